//! Many values, and which of them counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::experiment::Quantile;

/// Whole numbers, and how many there are of each.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Distribution(BTreeMap<i64, u64>);

impl Distribution {
    /// Adds a value.
    pub fn add(&mut self, value: i64) {
        *self.0.entry(value).or_default() += 1;
    }

    /// Adds all others.
    pub fn extend(&mut self, others: &Self) {
        for (value, count) in &others.0 {
            *self.0.entry(*value).or_default() += count;
        }
    }

    /// The value that counts; `None` if there is none. Quartiles between two values lie
    /// on the line between them, as in NumPy and matplotlib.
    pub fn take(&self, quantile: Quantile) -> Option<f64> {
        let last = self.0.values().sum::<u64>().checked_sub(1)?;
        let at = |quarters: u64| {
            let (whole, rest) = (last * quarters / 4, (last * quarters % 4) as f64 / 4.0);
            let (low, high) = (self.nth(whole)?, self.nth(whole + u64::from(rest > 0.0))?);
            Some(low + (high - low) * rest)
        };
        match quantile {
            Quantile::Least => at(0),
            Quantile::LowerQuartile => at(1),
            Quantile::Median => at(2),
            Quantile::UpperQuartile => at(3),
            Quantile::Greatest => at(4),
            Quantile::Mean => {
                let sum: i128 = self.0.iter().map(|(it, n)| i128::from(*it) * i128::from(*n)).sum();
                Some(sum as f64 / (last + 1) as f64)
            }
        }
    }

    /// The value with this number in their order, from 0.
    fn nth(&self, number: u64) -> Option<f64> {
        let mut left = number;
        self.0.iter().find_map(|(value, count)| match left.checked_sub(*count) {
            None => Some(*value as f64),
            Some(rest) => {
                left = rest;
                None
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Quantile; 6] = [
        Quantile::Least,
        Quantile::LowerQuartile,
        Quantile::Median,
        Quantile::UpperQuartile,
        Quantile::Greatest,
        Quantile::Mean,
    ];

    fn of(values: &[i64]) -> Distribution {
        let mut all = Distribution::default();
        values.iter().for_each(|value| all.add(*value));
        all
    }

    /// The numbers that `numpy.percentile` gives for 0, 10, 10, 25 and 40.
    #[test]
    fn quantiles_are_those_of_box_plots() {
        let taken = |all: &Distribution| ALL.map(|it| all.take(it));
        assert_eq!(taken(&of(&[10, 0, 25, 10, 40])), [0.0, 10.0, 10.0, 25.0, 40.0, 17.0].map(Some));
        assert_eq!(taken(&of(&[3, 1])), [1.0, 1.5, 2.0, 2.5, 3.0, 2.0].map(Some));
        assert_eq!(taken(&of(&[])), [None; 6]);
    }

    #[test]
    fn parts_are_one_whole() {
        let mut all = of(&[10, 40]);
        all.extend(&of(&[0, 25, 10]));
        assert_eq!(all.take(Quantile::UpperQuartile), Some(25.0));
        assert_eq!(all.0.values().sum::<u64>(), 5);
    }

    #[test]
    fn the_least_can_be_negative() {
        let all = of(&[5, -7, 2]);
        assert_eq!(all.take(Quantile::Least), Some(-7.0));
        let text = serde_json::to_string(&all).expect("text");
        let read: Distribution = serde_json::from_str(&text).expect("numbers");
        assert_eq!(read.take(Quantile::Least), Some(-7.0));
    }
}
