//! The isolation coefficient and how sure it is.

use serde::Serialize;

use crate::statistics::median;

/// Resamplings for the interval.
const RESAMPLES: usize = 2000;
/// Seed of them: the same samples give the same interval.
const SEED: u64 = 1;

/// Times of runs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// The median run.
    pub median_ns: f64,
    /// The shortest run.
    pub min_ns: u64,
    /// The longest run.
    pub max_ns: u64,
}

impl Times {
    /// Summarises times, of which there is at least one.
    pub fn of(times: &[u64]) -> Self {
        Self {
            median_ns: median_of(times),
            min_ns: times.iter().copied().min().unwrap_or(0),
            max_ns: times.iter().copied().max().unwrap_or(0),
        }
    }
}

/// `I = P / C - 1` (IsoTest, Eq. 1): P is the median of loaded runs, C that of the
/// baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coefficient {
    /// I.
    pub value: f64,
    /// I is at least this,
    pub low: f64,
    /// and at most this, with 95 % (bootstrap of percentiles).
    pub high: f64,
}

impl Coefficient {
    /// Returns the coefficient of times without and beside leeches, at least one of each.
    pub fn of(baseline: &[u64], loaded: &[u64]) -> Self {
        let ratio = |baseline: f64, loaded: f64| loaded / baseline.max(1.0) - 1.0;
        let value = ratio(median_of(baseline), median_of(loaded));
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut again = |times: &[u64]| {
            let drawn = (0..times.len()).map(|_| times[random.usize(..times.len())] as f64);
            median(drawn.collect())
        };
        let mut values: Vec<f64> =
            (0..RESAMPLES).map(|_| ratio(again(baseline), again(loaded))).collect();
        values.sort_by(f64::total_cmp);
        let outside = RESAMPLES / 40;
        Self { value, low: values[outside], high: values[RESAMPLES - 1 - outside] }
    }
}

fn median_of(times: &[u64]) -> f64 {
    median(times.iter().map(|time| *time as f64).collect())
}

/// The verdict on a victim.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// I is within the tolerance.
    Isolated,
    /// I is above it.
    NotIsolated,
    /// The interval of I contains the tolerance, or the A/A row shows that the noise of
    /// the machine does.
    CannotTell,
}

impl Verdict {
    /// Returns the word in results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::NotIsolated => "not-isolated",
            Self::CannotTell => "cannot-tell",
        }
    }

    /// Judges by the interval of I. `noise` is the largest coefficient that the A/A row allows: a
    /// value that is not larger may be noise.
    pub fn of(coefficient: &Coefficient, tolerance: f64, noise: f64) -> Self {
        if coefficient.low > tolerance.max(noise) {
            Self::NotIsolated
        } else if coefficient.high <= tolerance {
            Self::Isolated
        } else {
            Self::CannotTell
        }
    }

    /// Combines verdicts: one that is not isolated decides, and one that cannot tell leaves the
    /// answer open. Without a verdict the answer is open, too.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = None;
        for verdict in verdicts {
            match verdict {
                Self::NotIsolated => return Self::NotIsolated,
                Self::CannotTell => all = Some(Self::CannotTell),
                Self::Isolated => all = all.or(Some(Self::Isolated)),
            }
        }
        all.unwrap_or(Self::CannotTell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IsoTest, section III: 100 ms and 110 ms are 10 %.
    #[test]
    fn the_example_of_the_paper() {
        let same = Coefficient::of(&[100_000_000; 50], &[100_000_000; 50]);
        assert_eq!((same.value, same.low, same.high), (0.0, 0.0, 0.0));
        let slower = Coefficient::of(&[100_000_000; 50], &[110_000_000; 50]);
        assert!((slower.value - 0.1).abs() < 1e-12);
    }

    #[test]
    fn intervals_contain_the_true_coefficient_often_enough() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut times = |scale: f64| -> Vec<u64> {
            (0..30).map(|_| ((1e6 + 1e5 * random.f64().powi(2)) * scale) as u64).collect()
        };
        let contains = (0..200)
            .filter(|_| {
                let it = Coefficient::of(&times(1.0), &times(1.05));
                it.low <= 0.05 && 0.05 <= it.high
            })
            .count();
        assert!(contains >= 180, "{contains} of 200");
    }

    #[test]
    fn verdicts_follow_the_interval() {
        let verdict = |low: f64, high: f64, noise: f64| {
            Verdict::of(&Coefficient { value: (low + high) / 2.0, low, high }, 0.03, noise)
        };
        assert_eq!(verdict(-0.01, 0.02, 0.0), Verdict::Isolated);
        assert_eq!(verdict(0.05, 0.10, 0.0), Verdict::NotIsolated);
        assert_eq!(verdict(0.01, 0.10, 0.0), Verdict::CannotTell);
        assert_eq!(verdict(0.05, 0.10, 0.06), Verdict::CannotTell, "it may be noise");
    }

    #[test]
    fn the_worst_verdict_decides() {
        use Verdict::{CannotTell, Isolated, NotIsolated};
        assert_eq!(Verdict::all([Isolated, Isolated]), Isolated);
        assert_eq!(Verdict::all([Isolated, CannotTell]), CannotTell);
        assert_eq!(Verdict::all([CannotTell, NotIsolated, Isolated]), NotIsolated);
        assert_eq!(Verdict::all([]), CannotTell);
    }
}
