//! UUniFast-Discard: utilisations with a given sum, none above a limit.
//!
//! Davis and Burns, "Priority assignment for global fixed priority pre-emptive scheduling in
//! multiprocessor real-time systems", RTSS 2009: a point with a utilisation above the limit is
//! discarded and drawn again, so that the other points stay equally likely.

use crate::{Error, Random, error, uunifast};

/// As [`uunifast::sample`], with at most `limit` for each task. Gives up after `trials`.
///
/// # Errors
///
/// As [`uunifast::sample`]; the limit is too low for the sum; no trial succeeded.
pub fn sample(
    random: &mut Random,
    n: usize,
    total: f64,
    limit: f64,
    trials: u32,
) -> Result<Vec<f64>, Error> {
    let limit = error::at_least("the limit", limit, 0.0)?;
    let max = limit * n as f64;
    if total > max {
        return Err(Error::Sum { sum: total, min: 0.0, max });
    }
    for _ in 0..trials {
        let utilizations = uunifast::sample(random, n, total)?;
        if utilizations.iter().all(|utilization| *utilization <= limit) {
            return Ok(utilizations);
        }
    }
    Err(Error::Trials { trials })
}
