//! Jobs that may be more than there is memory for: the first blocks are kept, the rest goes to a
//! file without a name.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::Job;

/// Jobs of a block.
pub const BLOCK: usize = 256;
/// Bytes of a job in the file.
const JOB_BYTES: usize = 32;
/// Blocks of all lists that are kept in memory.
const KEPT_MAX: usize = 256;

/// A part of a list: [`BLOCK`] jobs, the last one up to as many.
#[derive(Clone, Debug)]
pub enum Block {
    Kept(Vec<Job>),
    /// Place in the file.
    Stored(u64),
}

/// The place for blocks.
#[derive(Debug, Default)]
pub struct Store {
    file: Option<File>,
    bytes: u64,
    kept: usize,
    /// Keeps all blocks in memory.
    keeps_all: bool,
}

impl Store {
    /// Returns a store without a file.
    pub fn in_memory() -> Self {
        Self { keeps_all: true, ..Self::default() }
    }

    /// Stores a full block.
    pub fn put(&mut self, jobs: Vec<Job>) -> io::Result<Block> {
        if self.keeps_all || self.kept < KEPT_MAX {
            self.kept += 1;
            return Ok(Block::Kept(jobs));
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let bytes: Vec<u8> = jobs.iter().flat_map(to_bytes).collect();
        let at = self.bytes;
        file.write_all_at(&bytes, at)?;
        self.bytes += bytes.len() as u64;
        Ok(Block::Stored(at))
    }

    /// Returns the jobs of a block.
    pub fn get(&self, block: &Block) -> io::Result<Vec<Job>> {
        match (block, &self.file) {
            (Block::Kept(jobs), _) => Ok(jobs.clone()),
            (Block::Stored(at), Some(file)) => {
                let mut bytes = [0; BLOCK * JOB_BYTES];
                file.read_exact_at(&mut bytes, *at)?;
                Ok(bytes.chunks_exact(JOB_BYTES).map(from_bytes).collect())
            }
            (Block::Stored(_), None) => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The number, which times there are, and the times.
fn to_bytes(job: &Job) -> [u8; JOB_BYTES] {
    let times = [job.release, job.start, job.finish];
    let known = (0..3).fold(0u32, |known, at| known | u32::from(times[at].is_some()) << at);
    let mut bytes = [0; JOB_BYTES];
    bytes[..4].copy_from_slice(&job.job.to_le_bytes());
    bytes[4..8].copy_from_slice(&known.to_le_bytes());
    for (place, time) in bytes[8..].chunks_exact_mut(8).zip(times) {
        place.copy_from_slice(&time.unwrap_or(0).to_le_bytes());
    }
    bytes
}

fn from_bytes(bytes: &[u8]) -> Job {
    let word = |at: usize| {
        bytes[at..].first_chunk().map_or(0, |bytes: &[u8; 8]| u64::from_le_bytes(*bytes))
    };
    let (job, known) = (word(0) as u32, word(0) >> 32);
    let time = |at: usize| (known >> at & 1 == 1).then(|| word(8 + 8 * at));
    Job { job, release: time(0), start: time(1), finish: time(2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_from_memory_and_file() {
        let mut store = Store::default();
        let jobs = |block: u32| -> Vec<Job> {
            let time = |known: bool, time: u64| known.then_some(time);
            let job = |number: u32| Job {
                job: number,
                release: time(number.is_multiple_of(2), u64::MAX - u64::from(number)),
                start: time(number.is_multiple_of(3), 1 << 40 | u64::from(number)),
                finish: time(number.is_multiple_of(5), u64::from(block)),
            };
            (block..block + BLOCK as u32).map(job).collect()
        };
        let blocks: Vec<_> =
            (0..300).map(|block| store.put(jobs(block)).expect("a block")).collect();
        assert!(matches!(blocks[0], Block::Kept(_)) && matches!(blocks[299], Block::Stored(_)));
        for (number, block) in (0..).zip(&blocks) {
            assert_eq!(store.get(block).expect("a block"), jobs(number));
        }
        let mut store = Store::in_memory();
        let kept = (0..300).all(|block| matches!(store.put(jobs(block)), Ok(Block::Kept(_))));
        assert!(kept);
    }
}
