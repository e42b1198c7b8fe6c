//! Conversion between counter ticks and nanoseconds.

const SECOND: u64 = 1_000_000_000;

/// A counter of fixed frequency.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clock {
    frequency: u64,
}

impl Clock {
    /// A counter with `frequency` ticks in a second (0 is taken as 1; exact below 18 GHz).
    pub const fn new(frequency: u64) -> Self {
        Self { frequency: if frequency == 0 { 1 } else { frequency } }
    }

    /// The counter of this machine.
    #[cfg(target_os = "none")]
    pub fn of_machine() -> Self {
        Self::new(crate::arch::counter::frequency())
    }

    /// Ticks in a second.
    pub const fn frequency(self) -> u64 {
        self.frequency
    }

    /// Ticks that have passed after `nanoseconds`, rounded down. Convert sums, not summands: then
    /// what is lost by rounding does not add up.
    pub const fn ticks(self, nanoseconds: u64) -> u64 {
        nanoseconds / SECOND * self.frequency + nanoseconds % SECOND * self.frequency / SECOND
    }

    /// Nanoseconds in `ticks`, rounded down.
    pub const fn nanoseconds(self, ticks: u64) -> u64 {
        ticks / self.frequency * SECOND + ticks % self.frequency * SECOND / self.frequency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_milliseconds_are_exact_at_common_frequencies() {
        for frequency in [1_000_000, 19_200_000, 54_000_000, 62_500_000, 100_000_000, SECOND] {
            let clock = Clock::new(frequency);
            for milliseconds in [1, 5, 999, 1000, 86_400_000] {
                let ns = milliseconds * 1_000_000;
                assert_eq!(clock.nanoseconds(clock.ticks(ns)), ns, "{frequency} Hz");
            }
        }
    }

    #[test]
    fn rounding_does_not_add_up() {
        let clock = Clock::new(32_768);
        assert_eq!(clock.ticks(1_000_000), 32);
        assert_eq!(clock.ticks(1_000_000 * 1000), 32_768);
    }

    #[test]
    fn a_frequency_of_zero_does_not_divide_by_zero() {
        assert_eq!(Clock::new(0).nanoseconds(3), 3 * SECOND);
    }
}
