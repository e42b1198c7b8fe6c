//! Medians and how sure they are.

use serde::Serialize;

/// A median and its confidence interval of at least 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The median of the sample.
    pub median: f64,
    /// The median of the population is at least this,
    pub low: f64,
    /// and at most this.
    pub high: f64,
}

impl Interval {
    /// Returns the median of a sample that is not empty, with its interval for any distribution.
    /// The interval ends at two of the values, whose ranks follow from the binomial distribution.
    /// With fewer than six values it is the whole range, and less certain.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let below = values_outside(values.len());
        Self {
            median: median_of_sorted(&values),
            low: values[below],
            high: values[values.len() - 1 - below],
        }
    }
}

/// Returns the median of a sample that is not empty.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    median_of_sorted(&values)
}

fn median_of_sorted(values: &[f64]) -> f64 {
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

/// Returns how many of `count` values can be left out at each end such that the median lies between
/// the others with at least 95 %: the largest k for which at most k of `count` tosses of a coin are
/// heads with at most 2.5 %, counted from 0.
fn values_outside(count: usize) -> usize {
    let mut probability = 0.5_f64.powi(count as i32);
    let mut sum = 0.0;
    for heads in 0..count {
        sum += probability;
        if sum > 0.025 {
            return heads.saturating_sub(1).min(count.saturating_sub(1) / 2);
        }
        probability *= (count - heads) as f64 / (heads + 1) as f64;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    /// Ranks of published tables for the sign test (two-sided, 5 %).
    #[test]
    fn ranks_are_those_of_the_sign_test() {
        for (count, outside) in [(1, 0), (5, 0), (6, 0), (9, 1), (12, 2), (20, 5), (25, 7)] {
            assert_eq!(values_outside(count), outside, "{count}");
        }
    }

    #[test]
    fn intervals_contain_the_true_median_often_enough() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut contains = |_: &i32| {
            let values = (0..25).map(|_| random.f64().powi(3)).collect();
            let interval = Interval::of(values);
            interval.low <= 0.125 && 0.125 <= interval.high
        };
        assert!((0..2000).filter(|it| contains(it)).count() >= 1900);
    }
}
