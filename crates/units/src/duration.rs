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
}
