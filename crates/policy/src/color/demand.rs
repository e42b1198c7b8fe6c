//! The number of frames of each colour that a VM needs.

use core::{error, fmt};

use super::set::{Color, ColorSet};

/// Pages that go round the colours of a set, some contiguous pages in each
/// colour before the next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Demand {
    colors: ColorSet,
    pages: u64,
    unit: u64,
}

impl Demand {
    /// Returns the demand of `pages` pages, one in each colour from the lowest on: what a new
    /// [`Rotation`](super::Rotation) takes while all its colours last.
    pub const fn rotating(colors: ColorSet, pages: u64) -> Self {
        Self { colors, pages, unit: 1 }
    }

    /// Returns the same with `unit` pages, at least one, in each colour.
    pub(super) const fn in_units(colors: ColorSet, pages: u64, unit: u64) -> Self {
        Self { colors, pages, unit }
    }

    /// Returns the colours.
    pub const fn colors(self) -> ColorSet {
        self.colors
    }

    /// Frames of `color` that are needed. Constant time.
    pub fn of(self, color: Color) -> u64 {
        if !self.colors.contains(color) {
            return 0;
        }
        let cycle = u64::from(self.colors.len()).saturating_mul(self.unit);
        let before = u64::from(self.colors.rank(color)) * self.unit;
        let rest = (self.pages % cycle).saturating_sub(before).min(self.unit);
        self.pages / cycle * self.unit + rest
    }
}

/// There are too few free frames of a colour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shortage {
    /// The colour.
    pub color: Color,
    /// Frames that are needed.
    pub needed: u64,
    /// Frames that are free.
    pub free: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { color, needed, free } = self;
        write!(f, "colour {color}: {needed} frames needed, {free} free")
    }
}

impl error::Error for Shortage {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_spread_over_the_colors() {
        let colors: ColorSet = "1-2,7".parse().unwrap();
        let needs = |demand: Demand| colors.iter().map(|c| demand.of(c)).collect::<Vec<_>>();
        assert_eq!(needs(Demand::rotating(colors, 0)), [0, 0, 0]);
        assert_eq!(needs(Demand::rotating(colors, 8)), [3, 3, 2]);
        assert_eq!(needs(Demand::in_units(colors, 9, 2)), [4, 3, 2]);
        assert_eq!(Demand::rotating(colors, 8).of(Color(0)), 0);
    }
}
