//! Pages from which memory of certain frames is made.
//!
//! They belong to one file in memory. A VM's memory is parts of this file, one behind the other in one range of addresses: to
//! map a page elsewhere does not move it to another frame. There are no huge pages among them, and KSM merges no pages of files.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};

use super::memory::Memory;
use super::movable::Movable;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// Pages in RAM, from which some are chosen.
#[derive(Debug)]
pub struct Candidates {
    file: Arc<OwnedFd>,
    parts: Vec<Memory>,
    pages: u64,
}

impl Candidates {
    /// Returns none at first.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create("bulkhead-colors", MemfdFlags::CLOEXEC)?;
        Ok(Self { file: Arc::new(file), parts: Vec::new(), pages: 0 })
    }

    /// Returns the number of pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Adds pages, at least one, which have frames then. Returns them as memory.
    pub fn add(&mut self, pages: u64) -> io::Result<&Memory> {
        ftruncate(&self.file, (self.pages + pages) * PAGE)?;
        let part = Memory::of_file(self.file.as_fd(), self.pages * PAGE, pages * PAGE)?;
        part.settle()?;
        self.pages += pages;
        self.parts.push(part);
        self.parts.last().ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Makes memory of runs of pages: each its first page and their number.
    pub fn memory(&self, runs: &[(u64, u64)]) -> io::Result<Memory> {
        let parts: Vec<_> =
            runs.iter().map(|(first, pages)| (first * PAGE, pages * PAGE)).collect();
        let memory = Memory::of_parts(self.file.as_fd(), &parts)?;
        memory.settle()?;
        Ok(memory)
    }

    /// Makes memory of runs of pages that can later lie in other pages, the spare ones, too.
    pub fn movable(&self, runs: &[(u64, u64)], spare: &[(u64, u64)]) -> io::Result<Movable> {
        let [memory, homes, others] = [runs, runs, spare].map(|runs| self.memory(runs));
        let file = Arc::clone(&self.file);
        Ok(Movable::new(file, memory?, (homes?, pages(runs)), (others?, pages(spare))))
    }

    /// Gives all pages back but those of these runs, which are in order and do not overlap.
    pub fn keep(self, runs: &[(u64, u64)]) -> io::Result<()> {
        let Self { file, parts, pages } = self;
        drop(parts);
        let punch = |from: u64, to: u64| match from < to {
            true => {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(file.as_fd(), hole, from * PAGE, (to - from) * PAGE)
            }
            false => Ok(()),
        };
        let mut kept = 0;
        for (first, pages) in runs {
            punch(kept, *first)?;
            kept = first + pages;
        }
        Ok(punch(kept, pages)?)
    }
}

/// Returns the pages of runs, one by one.
fn pages(runs: &[(u64, u64)]) -> Vec<u64> {
    runs.iter().flat_map(|(first, pages)| *first..first + pages).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_made_of_pages_in_any_order_and_the_rest_is_given_back() {
        let mut candidates = Candidates::new().expect("a file");
        for number in 0..2 {
            let part = candidates.add(4).expect("memory");
            (0..4).for_each(|page| part.set_word(page * PAGE, 10 * number + page + 1));
        }
        let file = candidates.file.try_clone().expect("a file");
        let memory = candidates.memory(&[(6, 2), (1, 1), (3, 2)]).expect("memory");
        candidates.keep(&[(1, 1), (3, 2), (6, 2)]).expect("holes");
        let words: Vec<u64> = (0..5).map(|page| memory.word(page * PAGE)).collect();
        assert_eq!(words, [13, 14, 2, 4, 11]);
        let kept = rustix::fs::fstat(&file).expect("its size").st_blocks as u64 * 512;
        assert_eq!(kept, 5 * PAGE);
    }
}
