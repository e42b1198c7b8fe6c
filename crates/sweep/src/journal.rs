//! Finished shards in a file: what a run that is interrupted at any time has computed.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::family::{self, Family};
use crate::lines::Lines;
use crate::{Error, Experiment};

/// A family whose finished shards are kept in a journal.
pub trait Recorded: Family<Shard: Serialize + DeserializeOwned, Error = Error> {
    /// The first line of the journal, which is different for each family and version of this program.
    fn header(&self) -> String;

    /// The number of a shard.
    fn number(shard: &Self::Shard) -> u64;

    /// Reads a line of the journal; returns `None` if the line is no shard of this family.
    fn read(&self, line: &str) -> Option<Self::Shard> {
        serde_json::from_str(line).ok()
    }

    /// Refuses to begin a journal in `file`, whose first line is `other`, if there is one. By default, results of
    /// others are thrown away.
    ///
    /// # Errors
    ///
    /// The results of others are kept.
    fn begin(&self, _file: &Path, _other: Option<&str>) -> Result<(), Error> {
        Ok(())
    }
}

/// The finished shards of a family, in memory and in a file.
///
/// Each line of the file is a shard. A line that is cut off, because the process was killed, is
/// computed again. The file is locked while the journal exists.
#[derive(Debug)]
pub struct Journal<F: Recorded = Experiment> {
    lines: Lines,
    shards: BTreeMap<u64, F::Shard>,
}

impl<F: Recorded> Journal<F> {
    /// Opens the journal in a file, which is made with its folder if it does not exist, with all
    /// finished shards.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, another process uses it, or [`Recorded::begin`] refuses.
    pub fn of(family: &F, file: &Path) -> Result<Self, Error> {
        let (mut lines, found) = Lines::open(file)?;
        let header = family.header();
        let mut shards = BTreeMap::new();
        match found.split_first() {
            Some((first, rest)) if *first == header => {
                let whole: Vec<_> = rest.iter().map_while(|line| family.read(line)).collect();
                lines.keep(&found[..=whole.len()])?;
                shards.extend(whole.into_iter().map(|shard| (F::number(&shard), shard)));
            }
            other => {
                if let Err(refused) = family.begin(file, other.map(|(first, _)| first.as_str())) {
                    // A file that was made just now has nothing to keep.
                    if found.is_empty() {
                        let _ = lines.remove();
                    }
                    return Err(refused);
                }
                lines.keep(&[])?;
                lines.add(&header)?;
            }
        }
        Ok(Self { lines, shards })
    }

    /// Returns the shards that are not finished.
    pub fn open_shards(&self, family: &F) -> Vec<u64> {
        (0..family.shards()).filter(|number| !self.shards.contains_key(number)).collect()
    }

    /// Returns the finished shards in their order.
    pub fn shards(&self) -> impl Iterator<Item = &F::Shard> {
        self.shards.values()
    }

    /// Keeps a finished shard.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn add(&mut self, shard: F::Shard) -> Result<(), Error> {
        self.lines
            .add(&serde_json::to_string(&shard).expect("numbers and words can be written"))?;
        self.shards.insert(F::number(&shard), shard);
        Ok(())
    }

    /// Computes the shards that are not finished with `jobs` threads. Returns true if all are finished
    /// then.
    ///
    /// `watch` is called as by [`family::compute`].
    ///
    /// # Errors
    ///
    /// A shard cannot be computed, or the journal cannot be written. Shards that are finished are kept.
    pub fn fill(
        &mut self,
        family: &F,
        jobs: NonZeroUsize,
        watch: impl FnMut(u64) -> bool,
    ) -> Result<bool, Error> {
        let open = self.open_shards(family);
        family::compute(family, &open, jobs, |_, shard| self.add(shard), watch)?;
        Ok(self.open_shards(family).is_empty())
    }

    /// Returns where the file is.
    pub(crate) fn path(&self) -> &Path {
        self.lines.path()
    }

    /// Removes the file: the journal is not needed any more.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub fn remove(self) -> Result<(), Error> {
        self.lines.remove()
    }
}
