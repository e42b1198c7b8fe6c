//! Cycles and nanoseconds.

/// A length of time as given: in cycles, or in nanoseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Duration {
    /// Cycles of the CPUs' clock.
    Cycles(u64),
    /// Nanoseconds.
    Nanoseconds(u64),
}

/// The clock of the CPUs: all run at one frequency.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clock {
    /// Frequency in MHz, above 0.
    pub mhz: u64,
}

impl Clock {
    /// A duration in cycles, rounded up.
    pub fn cycles(self, duration: Duration) -> u64 {
        match duration {
            Duration::Cycles(cycles) => cycles,
            Duration::Nanoseconds(ns) => {
                let cycles = (u128::from(ns) * u128::from(self.mhz)).div_ceil(1000);
                u64::try_from(cycles).unwrap_or(u64::MAX)
            }
        }
    }

    /// Cycles in nanoseconds, rounded down.
    pub fn nanoseconds(self, cycles: u64) -> u64 {
        let ns = u128::from(cycles) * 1000 / u128::from(self.mhz);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_both_ways() {
        let clock = Clock { mhz: 1500 };
        assert_eq!(clock.cycles(Duration::Nanoseconds(100)), 150);
        assert_eq!(clock.cycles(Duration::Nanoseconds(1)), 2);
        assert_eq!(clock.cycles(Duration::Cycles(7)), 7);
        assert_eq!(clock.nanoseconds(150), 100);
        assert_eq!(clock.nanoseconds(u64::MAX), u64::MAX / 3 * 2);
    }
}
