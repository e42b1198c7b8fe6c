//! UUniFast: utilisations with a given sum.
//!
//! Bini and Buttazzo, "Measuring the performance of schedulability tests",
//! Real-Time Systems 30, 2005: the sum of the first n-1 of n uniform parts of `u` is
//! distributed as `u * r^(1/(n-1))`.

use crate::{Error, Random, error};

/// Draws `n` utilisations of at least 0 whose sum is `total`; all such points are equally likely.
/// For a `total` above 1 some utilisations can be above 1: see [`crate::uunifast_discard`].
///
/// # Errors
///
/// `n` is 0, or `total` is not a number of at least 0.
pub fn sample(random: &mut Random, n: usize, total: f64) -> Result<Vec<f64>, Error> {
    let n = error::count(n, usize::MAX)?;
    let mut rest = error::at_least("the total utilisation", total, 0.0)?;
    let mut utilizations = Vec::with_capacity(n);
    for others in (1..n).rev() {
        let next = rest * libm::pow(random.unit(), 1.0 / others as f64);
        utilizations.push(rest - next);
        rest = next;
    }
    utilizations.push(rest);
    Ok(utilizations)
}
