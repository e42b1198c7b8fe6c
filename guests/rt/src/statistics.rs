//! Smallest, mean and largest of a series.

/// Summary of a series of numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Summary {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Summary {
    /// The summary of an empty series.
    pub const fn new() -> Self {
        Self { count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Adds `value` to the series. A sum beyond 64 bits stays at the largest number.
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Returns the number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest number, 0 of an empty series.
    pub const fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// The mean, rounded down, 0 of an empty series.
    pub const fn mean(&self) -> u64 {
        match self.sum.checked_div(self.count) {
            Some(mean) => mean,
            None => 0,
        }
    }

    /// The largest number, 0 of an empty series.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// Largest minus smallest.
    pub const fn spread(&self) -> u64 {
        self.max() - self.min()
    }
}

impl Default for Summary {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summarizes() {
        let mut summary = Summary::new();
        for value in [7, 3, 9, 4] {
            summary.add(value);
        }
        assert_eq!((summary.count(), summary.min(), summary.mean(), summary.max()), (4, 3, 5, 9));
        assert_eq!(summary.spread(), 6);
    }

    #[test]
    fn an_empty_series_is_all_zero() {
        let empty = Summary::new();
        assert_eq!((empty.min(), empty.mean(), empty.max(), empty.spread()), (0, 0, 0, 0));
    }
}
