//! Frequencies.

use std::fmt;

use crate::Duration;

const SECOND: u64 = 1_000_000_000;

/// A number of events in a second.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Frequency(pub u64);

impl Frequency {
    /// Returns the shortest time that is a whole number both of ticks and of nanoseconds; one
    /// second for 0 Hz.
    pub fn common_period(self) -> Duration {
        let (mut a, mut b) = (SECOND, self.0);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Duration(if self.0 == 0 { SECOND } else { SECOND / a })
    }
}

/// In the largest unit that shows the exact number with up to three decimals: `62.5 MHz`.
impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [(1_000_000_000, "GHz"), (1_000_000, "MHz"), (1_000, "kHz")] {
            if self.0 >= unit && self.0.is_multiple_of(unit / 1_000) {
                let thousandths = format!("{:03}", self.0 % unit / (unit / 1_000));
                let fraction = thousandths.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                return f.pad(&format!("{}{point}{fraction} {name}", self.0 / unit));
            }
        }
        f.pad(&format!("{} Hz", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn frequencies_are_shown_exactly() {
        for (hertz, shown) in [
            (0, "0 Hz"),
            (62_500_000, "62.5 MHz"),
            (54_000_000, "54 MHz"),
            (99_990_005, "99990.005 kHz"),
            (1_000_000_000, "1 GHz"),
        ] {
            assert_eq!(Frequency(hertz).to_string(), shown);
            assert_eq!(parse(shown), Ok(Frequency(hertz)));
        }
    }

    #[test]
    fn ticks_meet_nanoseconds() {
        for (hertz, nanoseconds) in
            [(62_500_000, 16), (54_000_000, 500), (1_000_000_000, 1), (99_990_005, 200_000_000)]
        {
            assert_eq!(Frequency(hertz).common_period(), Duration(nanoseconds));
        }
        assert_eq!(Frequency(0).common_period(), Duration(SECOND));
    }
}
