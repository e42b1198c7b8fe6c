//! Ranges of sizes, as boot arguments name them: `8-512/8`.

use core::fmt;

/// Sizes from a first to a last one, by equal steps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sweep {
    // Private: 0 < first <= last, 0 < step.
    first: u64,
    last: u64,
    step: u64,
}

/// A text that is not a [`Sweep`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotASweep<'a>(pub &'a str);

impl fmt::Display for NotASweep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected FIRST-LAST/STEP, as in 8-512/8", self.0)
    }
}

impl Sweep {
    /// Only this size; 0 is taken as 1.
    pub const fn only(size: u64) -> Self {
        let size = if size == 0 { 1 } else { size };
        Self { first: size, last: size, step: 1 }
    }

    /// Reads `FIRST-LAST/STEP`.
    pub fn parse(text: &str) -> Result<Self, NotASweep<'_>> {
        let numbers = || {
            let (range, step) = text.split_once('/')?;
            let (first, last) = range.split_once('-')?;
            Some([first, last, step].map(|number| number.parse().ok()))
        };
        match numbers() {
            Some([Some(first), Some(last), Some(step)])
                if 0 < first && first <= last && 0 < step =>
            {
                Ok(Self { first, last, step })
            }
            _ => Err(NotASweep(text)),
        }
    }

    /// The sizes, smallest first.
    pub fn sizes(self) -> impl Iterator<Item = u64> {
        (0..=(self.last - self.first) / self.step).map(move |i| self.first + i * self.step)
    }

    /// The largest size.
    pub fn largest(self) -> u64 {
        self.sizes().last().unwrap_or(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_from_first_to_last() {
        let sweep = Sweep::parse("8-512/8").unwrap();
        assert_eq!((sweep.sizes().count(), sweep.largest()), (64, 512));
        let uneven = Sweep::parse("1-10/4").unwrap();
        assert!(uneven.sizes().eq([1, 5, 9]));
        assert_eq!(uneven.largest(), 9);
        assert!(Sweep::only(1024).sizes().eq([1024]));
    }

    #[test]
    fn what_would_not_end_or_not_begin_is_refused() {
        for text in ["", "8", "8-16", "8-16/0", "0-16/8", "16-8/8", "a-b/c", "8-16/8/8"] {
            assert_eq!(Sweep::parse(text), Err(NotASweep(text)));
        }
    }
}
