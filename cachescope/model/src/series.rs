//! Counts over time.

use crate::tally::Totals;

/// The counts of every owner, interval by interval of model time.
#[derive(Clone, Debug)]
pub struct Series {
    interval: u64,
    next: u64,
    earlier: Vec<Totals>,
    rows: Vec<Row>,
}

/// The counts of one owner in one interval; intervals in which it did nothing have none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Row {
    /// Begin of the interval, in cycles.
    pub start: u64,
    /// Index of the owner.
    pub owner: usize,
    /// The counts of the owner in the interval.
    pub totals: Totals,
}

impl Series {
    /// Intervals of this many cycles (above 0), for this many owners.
    pub fn new(interval: u64, owners: usize) -> Self {
        let earlier = vec![Totals::default(); owners];
        Self { interval, next: interval, earlier, rows: Vec::new() }
    }

    /// Returns true if the interval is over at this time.
    #[inline]
    pub fn is_due(&self, now: u64) -> bool {
        now >= self.next
    }

    /// Ends the interval. `now` is the time and `totals` are the counts of all
    /// owners since the beginning.
    pub fn record(&mut self, now: u64, totals: impl IntoIterator<Item = Totals>) {
        let start = self.next - self.interval;
        for (owner, totals) in totals.into_iter().enumerate() {
            let change = totals.since(self.earlier[owner]);
            if change != Totals::default() {
                self.rows.push(Row { start, owner, totals: change });
            }
            self.earlier[owner] = totals;
        }
        self.next = (now / self.interval).saturating_add(1).saturating_mul(self.interval);
    }

    /// The rows that were recorded.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_fall_into_their_intervals_and_nothing_is_lost() {
        let mut series = Series::new(100, 2);
        let totals = |accesses| Totals { accesses, ..Totals::default() };
        assert!(!series.is_due(99));
        assert!(series.is_due(100));
        series.record(100, [totals(5), totals(0)]);
        // Nothing happens until 320, where the next interval is recorded.
        series.record(320, [totals(5), totals(2)]);
        assert!(!series.is_due(399));
        series.record(400, [totals(9), totals(3)]);
        let rows: Vec<_> =
            series.rows().iter().map(|row| (row.start, row.owner, row.totals.accesses)).collect();
        assert_eq!(rows, [(0, 0, 5), (100, 1, 2), (300, 0, 4), (300, 1, 1)]);
    }
}
