//! A sweep on this machine.

use std::num::NonZeroUsize;

use crate::{Error, Experiment, Journal, Shard, pool};

/// The progress of a sweep.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Progress {
    /// Shards that are finished.
    pub finished: u64,
    /// All shards.
    pub shards: u64,
}

/// Computes the unfinished shards with this number of threads. Returns true if all shards are
/// finished then.
///
/// `watch` is called about ten times a second. When it returns false, no more shards begin, and the
/// unfinished ones are given up.
///
/// # Errors
///
/// A system fails, or the journal cannot be written. Finished shards are kept.
pub fn run(
    experiment: &Experiment,
    journal: &mut Journal,
    jobs: NonZeroUsize,
    mut watch: impl FnMut(Progress) -> bool,
) -> Result<bool, Error> {
    let open = journal.open_shards(experiment);
    let shards = experiment.shards();
    let mut finished = shards - open.len() as u64;
    let mut failure = None;
    let compute = |shard: &u64, stop: &_| Shard::compute(experiment, *shard, stop).transpose();
    pool::each(&open, jobs, compute, |computed| {
        let kept = match computed {
            None => Ok(()),
            Some(shard) => shard.and_then(|shard| {
                finished += 1;
                journal.add(shard)
            }),
        };
        if let Err(error) = kept {
            failure.get_or_insert(error);
        }
        watch(Progress { finished, shards }) && failure.is_none()
    });
    match failure {
        Some(failure) => Err(failure),
        None => Ok(journal.open_shards(experiment).is_empty()),
    }
}
