//! Numbers with a given sum, each below a limit of its own; all are equally likely.
//!
//! The box of the limits is cut into cells of one size `h` along each axis. A point is
//! a cell, `k = (k_1, ..., k_n)`, and a place in it, `f` in [0, 1]^n; the sum of all
//! numbers being given, that of `f` follows from that of `k`. So:
//!
//! 1. `K = k_1 + ... + k_n` is drawn with weight `N(K) f_n(sum/h - K)`: the number of
//!    cells with this `K`, times what the sum leaves of each of them, which is the same
//!    for all (Irwin and Hall);
//! 2. one of these cells is drawn, by the numbers of cells of the first 1, 2, ... axes;
//! 3. and a point of its slice ([`crate::randfixedsum`]);
//! 4. the last cell of an axis can reach beyond the limit: a point there is drawn anew.
//!
//! Each step is exact, and `h` is chosen so that few points are drawn anew.
//!
//! Scaling the parts of a Dirichlet distribution into the limits (Griffin, Bate and
//! Davis, RTSS 2020, "DRS") is faster for many numbers, but some regions get more than
//! their share where limits differ.

use crate::randfixedsum::Volumes;
use crate::{Error, Random, error};

/// Most numbers of one sample.
pub const COUNT_MAX: usize = 100;
/// Cells along the axis with the highest limit, at least.
const CELLS_MIN: usize = 16;
/// `n^2` times these are at most as many: memory for the numbers of cells.
const CELLS_SQUARES_MAX: usize = 4_000_000;
/// Points that are drawn anew before one is given up.
const TRIALS: u32 = 100_000;

/// Draws numbers of at least 0 with a given sum, each at most its limit. The table
/// that this needs is made once.
#[derive(Clone, Debug)]
pub struct Capped {
    caps: Vec<f64>,
    /// The only point there is, where the sum is 0 or that of the limits.
    only: Option<Vec<f64>>,
    /// Indices of the limits that are not 0; the others leave nothing to draw.
    free: Vec<usize>,
    /// Length of a cell.
    h: f64,
    /// Cells along each free axis.
    cells: Vec<usize>,
    /// `counts[i][k]`: cells of the first `i` free axes whose indices sum to `k`.
    counts: Vec<Vec<f64>>,
    /// Volumes of what is left of a cell.
    volumes: Volumes,
    /// The sum in cells: the whole part.
    whole: usize,
    /// The sum in cells: the rest.
    fraction: f64,
}

impl Capped {
    /// Numbers with this sum, number `i` at most `caps[i]`.
    ///
    /// # Errors
    ///
    /// There are not 1 to [`COUNT_MAX`] limits; one is no number of at least 0; they do
    /// not allow the sum.
    pub fn new(sum: f64, caps: &[f64]) -> Result<Self, Error> {
        error::count(caps.len(), COUNT_MAX)?;
        let mut max = 0.0;
        for cap in caps {
            max += error::at_least("a limit", *cap, 0.0)?;
        }
        if !(0.0..=max).contains(&sum) {
            return Err(Error::Sum { sum, min: 0.0, max });
        }
        let only = match sum {
            sum if sum <= 0.0 => Some(vec![0.0; caps.len()]),
            sum if sum >= max => Some(caps.to_vec()),
            _ => None,
        };
        let free: Vec<usize> = (0..caps.len()).filter(|&i| caps[i] > 0.0).collect();
        let limits: Vec<f64> = free.iter().map(|&i| caps[i]).collect();
        let h = cell(&limits);
        let cells: Vec<usize> = limits.iter().map(|cap| libm::ceil(cap / h) as usize).collect();
        let whole = libm::floor(sum / h);
        Ok(Self {
            caps: caps.to_vec(),
            only,
            counts: counts(&cells),
            volumes: Volumes::new(free.len(), free.len() as f64 + (sum / h - whole)),
            fraction: sum / h - whole,
            whole: whole as usize,
            free,
            h,
            cells,
        })
    }

    /// Returns the numbers, in the order of their limits.
    ///
    /// # Errors
    ///
    /// No point was found: the smallest limits are too small beside the largest.
    pub fn sample(&self, random: &mut Random) -> Result<Vec<f64>, Error> {
        if let Some(only) = &self.only {
            return Ok(only.clone());
        }
        for _ in 0..TRIALS {
            let point = self.trial(random);
            // What rounding may add to a number at its limit.
            let slack = 1e-9 * self.h;
            if point.iter().zip(&self.caps).all(|(x, cap)| *x <= cap + slack) {
                return Ok(point);
            }
        }
        Err(Error::Trials { trials: TRIALS })
    }

    /// Returns a point within the cells.
    fn trial(&self, random: &mut Random) -> Vec<f64> {
        let mut point = vec![0.0; self.caps.len()];
        let n = self.free.len();
        // What the places in the cells sum to: `fraction + j`.
        let all = &self.counts[n];
        let weight = |(j, volume): (usize, &f64)| {
            let cells = self.whole.checked_sub(j).and_then(|k| all.get(k));
            volume * cells.copied().unwrap_or(0.0)
        };
        let weights: Vec<f64> = self.volumes.last().iter().enumerate().map(weight).collect();
        let j = random.weighted(&weights);
        let places = self.volumes.sample(random, self.fraction + j as f64);
        let mut left = self.whole.saturating_sub(j);
        for axis in (0..n).rev() {
            let fewer = &self.counts[axis];
            let ways = |k: usize| left.checked_sub(k).and_then(|rest| fewer.get(rest));
            let weights: Vec<f64> =
                (0..self.cells[axis]).map(|k| ways(k).copied().unwrap_or(0.0)).collect();
            let k = random.weighted(&weights);
            left = left.saturating_sub(k);
            point[self.free[axis]] = (k as f64 + places[axis]) * self.h;
        }
        point
    }
}

/// Returns the length of a cell: so short that at least half of the cells' points are within the
/// limits, unless that takes too many cells.
fn cell(limits: &[f64]) -> f64 {
    let highest = limits.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let most = CELLS_SQUARES_MAX / limits.len().max(1).pow(2);
    let mut number = CELLS_MIN;
    loop {
        let h = highest / number as f64;
        let within: f64 = limits.iter().map(|cap| cap / (libm::ceil(cap / h) * h)).product();
        if within >= 0.5 || number * 2 > most {
            return h;
        }
        number *= 2;
    }
}

/// For the first 0, 1, 2, ... axes the numbers of cells by the sum of their indices.
fn counts(cells: &[usize]) -> Vec<Vec<f64>> {
    let mut counts = vec![vec![1.0]];
    for &cells in cells {
        let before = &counts[counts.len() - 1];
        let last = before.len() + cells - 2;
        let mut row = vec![0.0; last + 1];
        // A row is symmetric and grows up to its middle: up to there a sum over a window
        // is no small difference of large numbers.
        let mut window = 0.0;
        for k in 0..=last / 2 {
            window += before.get(k).copied().unwrap_or(0.0);
            if let Some(gone) = k.checked_sub(cells) {
                window -= before.get(gone).copied().unwrap_or(0.0);
            }
            row[k] = window;
            row[last - k] = window;
        }
        counts.push(row);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted() {
        // Of 2 x 3 x 2 cells, those with index sums 0 to 4.
        assert_eq!(counts(&[2, 3, 2])[3], [1.0, 3.0, 4.0, 3.0, 1.0]);
        let total: f64 = counts(&[7, 3, 11, 5])[4].iter().sum();
        assert_eq!(total, 7.0 * 3.0 * 11.0 * 5.0);
    }

    #[test]
    fn limits_and_sums_hold() {
        let mut random = Random::new(5, 0);
        for (sum, caps) in [
            (1.0, vec![1.0]),
            (0.0, vec![0.5, 1.0]),
            (1.5, vec![0.5, 1.0]),
            (0.3, vec![0.0, 0.2, 0.0, 0.2]),
            (2.0, vec![0.013, 0.7, 0.31, 0.9, 0.2, 1.0]),
            (30.0, vec![0.7; 100]),
        ] {
            let generator = Capped::new(sum, &caps).unwrap();
            for _ in 0..100 {
                let point = generator.sample(&mut random).unwrap();
                let total: f64 = point.iter().sum();
                assert!((total - sum).abs() < 1e-9, "{caps:?}: {total}");
                let within = point.iter().zip(&caps).all(|(x, cap)| (0.0..=cap + 1e-9).contains(x));
                assert!(within, "{caps:?}: {point:?}");
            }
        }
    }

    #[test]
    fn impossible_sums_are_refused() {
        let error = Capped::new(1.6, &[0.5, 1.0]).unwrap_err();
        assert_eq!(error.to_string(), "numbers within these limits have sums of 0 to 1.5, not 1.6");
        assert!(Capped::new(0.1, &[f64::INFINITY]).is_err());
        assert!(Capped::new(0.0, &[]).is_err());
    }
}
