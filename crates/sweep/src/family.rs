//! Families of computations that do not depend on each other: cut into shards, which several threads compute.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use crate::pool;

/// Computations that do not depend on each other, in shards that are numbered from 0.
pub trait Family: Sync {
    /// The results of the computations of one shard.
    type Shard: Send;
    /// The reason why a shard has no result.
    type Error: Send;

    /// The number of shards.
    fn shards(&self) -> u64;

    /// Computes a shard; returns `None` if `stop` was set before the end.
    ///
    /// # Errors
    ///
    /// There is no such shard, or one of its computations fails.
    fn compute(&self, number: u64, stop: &AtomicBool) -> Result<Option<Self::Shard>, Self::Error>;
}

/// Computes the shards that are `open` with `jobs` threads, and gives each to `keep`.
///
/// `watch` is called about ten times a second with the number of finished shards, among them those that were not open.
/// When it returns false, or after a failure, no more shards are begun, and those that are not finished are given up.
///
/// # Errors
///
/// The first failure of a shard or of `keep`.
pub fn compute<F: Family>(
    family: &F,
    open: &[u64],
    jobs: NonZeroUsize,
    mut keep: impl FnMut(u64, F::Shard) -> Result<(), F::Error>,
    mut watch: impl FnMut(u64) -> bool,
) -> Result<(), F::Error> {
    let mut finished = family.shards() - open.len() as u64;
    let mut failure = None;
    let compute = |&number: &u64, stop: &_| {
        family.compute(number, stop).map(|shard| Some((number, shard?))).transpose()
    };
    pool::each(open, jobs, compute, |computed| {
        let kept = match computed {
            None => Ok(()),
            Some(shard) => shard.and_then(|(number, shard)| {
                finished += 1;
                keep(number, shard)
            }),
        };
        if let Err(error) = kept {
            failure.get_or_insert(error);
        }
        watch(finished) && failure.is_none()
    });
    failure.map_or(Ok(()), Err)
}
