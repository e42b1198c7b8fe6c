//! Lengths of time.

use std::fmt;

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Duration(pub u64);

impl Duration {
    /// Returns the number of nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Shows the time in the largest unit that needs at most three decimals: `1.5 ms`.
    pub fn short(self) -> String {
        let Self(time) = self;
        for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if time >= unit && time.is_multiple_of(unit / 1_000) {
                let thousandths = format!("{:03}", time % unit / (unit / 1_000));
                let fraction = thousandths.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                return format!("{}{point}{fraction} {name}", time / unit);
            }
        }
        self.to_string()
    }
}

/// In the largest unit that shows the exact number: `3 ms`, `1500 us`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if self.0 != 0 && self.0.is_multiple_of(unit) {
                return f.pad(&format!("{} {name}", self.0 / unit));
            }
        }
        f.pad(&format!("{} ns", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_exactly() {
        for (nanos, shown) in
            [(0, "0 ns"), (1_500_000, "1500 us"), (3_000_000, "3 ms"), (1_001, "1001 ns")]
        {
            assert_eq!(Duration(nanos).to_string(), shown);
        }
    }

    #[test]
    fn short_times_are_exact() {
        for (nanos, shown) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_500, "1.5 us"),
            (28_500_000, "28.5 ms"),
            (1_000_001, "1000.001 us"),
            (1_234_567_891, "1234567.891 us"),
            (2_000_000_000, "2 s"),
        ] {
            assert_eq!(Duration(nanos).short(), shown);
        }
    }
}
