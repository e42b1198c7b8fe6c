//! Rates of memory traffic.

use std::fmt;

use crate::{Bytes, Duration};

const SECOND: u128 = 1_000_000_000;

/// A number of bytes in a second. 1 MB/s are 10^6 of them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Rate(pub u64);

impl Rate {
    /// Returns the rate of this number of pieces of this size in each period: rounded down, and the
    /// largest rate if it has more than 64 bits or the period is 0.
    pub fn of(pieces: u64, size: Bytes, period: Duration) -> Self {
        let bytes = u128::from(pieces).saturating_mul(size.0.into()).checked_mul(SECOND);
        let rate = bytes.and_then(|bytes| bytes.checked_div(period.0.into()));
        Self(rate.and_then(|rate| rate.try_into().ok()).unwrap_or(u64::MAX))
    }

    /// Returns the number of whole pieces of this size in a period: 0 if the size is 0.
    pub fn pieces(self, size: Bytes, period: Duration) -> u64 {
        let bytes = u128::from(self.0) * u128::from(period.0);
        let pieces = bytes.checked_div(u128::from(size.0) * SECOND).unwrap_or(0);
        pieces.try_into().unwrap_or(u64::MAX)
    }

    /// Returns the least rate that is one piece of this size in a period.
    pub fn least(size: Bytes, period: Duration) -> Self {
        let bytes = u128::from(size.0) * SECOND;
        let rate = bytes.div_ceil(u128::from(period.0).max(1));
        Self(rate.try_into().unwrap_or(u64::MAX))
    }

    /// Returns the shortest period in which it is one piece of this size.
    pub fn shortest_period(self, size: Bytes) -> Duration {
        let bytes = u128::from(size.0) * SECOND;
        Duration(bytes.div_ceil(u128::from(self.0).max(1)).try_into().unwrap_or(u64::MAX))
    }
}

/// In the largest decimal unit that shows the exact number with up to three decimals: `80 MB/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [(1_000_000_000, "GB/s"), (1_000_000, "MB/s"), (1_000, "kB/s")] {
            if self.0 >= unit && self.0.is_multiple_of(unit / 1_000) {
                let thousandths = format!("{:03}", self.0 % unit / (unit / 1_000));
                let fraction = thousandths.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                return f.pad(&format!("{}{point}{fraction} {name}", self.0 / unit));
            }
        }
        f.pad(&format!("{} B/s", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    const LINE: Bytes = Bytes(64);
    const MS: Duration = Duration(1_000_000);

    #[test]
    fn rates_are_shown_exactly_and_read_back() {
        for (bytes, shown) in [
            (0, "0 B/s"),
            (999, "999 B/s"),
            (4_194_304, "4194.304 kB/s"),
            (80_000_000, "80 MB/s"),
            (62_500_000, "62.5 MB/s"),
            (17_000_000_000, "17 GB/s"),
        ] {
            assert_eq!(Rate(bytes).to_string(), shown);
            assert_eq!(parse(shown), Ok(Rate(bytes)));
        }
        assert_eq!(parse("4MiB/s"), Ok(Rate(4 << 20)));
        assert_eq!(parse("1.5GiB/s"), Ok(Rate(3 << 29)));
    }

    #[test]
    fn rates_are_whole_numbers_of_accesses() {
        // 80 MB/s: 80,000 bytes in 1 ms.
        assert_eq!(Rate(80_000_000).pieces(LINE, MS), 1250);
        assert_eq!(Rate(79_999_999).pieces(LINE, MS), 1249);
        assert_eq!(Rate::of(1250, LINE, MS), Rate(80_000_000));
        assert_eq!(Rate(u64::MAX).pieces(Bytes(1), Duration(u64::MAX)), u64::MAX);
        assert_eq!(Rate(1).pieces(Bytes(0), MS), 0);
        assert_eq!(Rate::of(u64::MAX, LINE, Duration(1)), Rate(u64::MAX));
        assert_eq!(Rate::of(1, LINE, Duration(0)), Rate(u64::MAX));
    }

    #[test]
    fn the_least_rate_and_the_shortest_period_give_one_access() {
        for (size, period) in [(64, 1_000_000), (64, 999_983), (1, 7), (4096, 60_000_000_000)] {
            let (size, period) = (Bytes(size), Duration(period));
            let least = Rate::least(size, period);
            assert_eq!(least.pieces(size, period), 1, "{size} {period}");
            assert_eq!(Rate(least.0 - 1).pieces(size, period), 0, "{size} {period}");
            let shortest = least.shortest_period(size);
            assert!(shortest <= period && least.pieces(size, shortest) == 1);
            assert_eq!(least.pieces(size, Duration(shortest.0 - 1)), 0);
        }
    }
}
