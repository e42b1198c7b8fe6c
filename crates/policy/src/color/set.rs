//! Colours, and sets of them.

use core::ops::{BitAnd, BitOr, Sub};
use core::str::FromStr;
use core::{error, fmt};

/// Maximum number of colours.
pub const COLORS_MAX: usize = 64;

/// One colour, from 0 to [`COLORS_MAX`] - 1.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Color(pub(super) u8);

impl Color {
    /// Returns the colour with this index, if it is below [`COLORS_MAX`].
    pub const fn new(index: u8) -> Option<Self> {
        if (index as usize) < COLORS_MAX { Some(Self(index)) } else { None }
    }

    /// Returns its index.
    pub const fn index(self) -> usize {
        // Changes nothing; it tells the compiler how large the index can be.
        self.0 as usize % COLORS_MAX
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of colours.
///
/// Written as in `"0-3,8"`; the empty set is shown as `none` and cannot be read.
/// All methods take constant time.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct ColorSet(u64);

impl ColorSet {
    /// The set without colours.
    pub const EMPTY: Self = Self(0);

    /// Returns the set in which bit `i` stands for colour `i`.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Bit `i` stands for colour `i`.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the lowest `count` colours.
    pub const fn first(count: u32) -> Self {
        match count {
            0 => Self::EMPTY,
            1..64 => Self((1 << count) - 1),
            _ => Self(u64::MAX),
        }
    }

    /// Returns the colours from `first` to `last`, both included.
    const fn span(first: Color, last: Color) -> Self {
        Self(Self::first(last.0 as u32 + 1).0 & u64::MAX << first.0)
    }

    /// Returns true if there is no colour in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of colours.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns true if `color` is in it.
    pub const fn contains(self, color: Color) -> bool {
        self.0 >> color.0 & 1 != 0
    }

    /// Returns true if all its colours are in `other` too.
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns true if it has no colour in common with `other`.
    pub const fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    /// Returns how many of its colours are lower than `color`.
    pub const fn rank(self, color: Color) -> u32 {
        (self.0 & ((1 << color.0) - 1)).count_ones()
    }

    /// Returns its colour above `rank` others of it. Time: `rank`.
    pub(super) const fn nth(self, rank: u32) -> Option<Color> {
        let mut rest = self.0;
        let mut below = 0;
        while below < rank && rest != 0 {
            rest &= rest - 1;
            below += 1;
        }
        if rest == 0 { None } else { Some(Color(rest.trailing_zeros() as u8)) }
    }

    /// Returns its lowest colour from `from` upwards, else its lowest.
    pub(super) const fn next_around(self, from: Color) -> Option<Color> {
        let above = self.0 & u64::MAX << from.0;
        match if above == 0 { self.0 } else { above } {
            0 => None,
            bits => Some(Color(bits.trailing_zeros() as u8)),
        }
    }

    /// Returns its colours, lowest first.
    pub fn iter(self) -> impl Iterator<Item = Color> + Clone {
        self.runs().flat_map(|run| (run.first.0..run.first.0 + run.len).map(Color))
    }

    /// Its runs of contiguous colours, lowest first: as few as possible
    /// (XvIso section III-A merges them into one map).
    pub fn runs(self) -> impl Iterator<Item = Run> + Clone {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            (rest != 0).then(|| {
                let first = rest.trailing_zeros();
                let len = (rest >> first).trailing_ones();
                // Adding to the run's lowest bit carries out of the run.
                rest &= rest.wrapping_add(1 << first);
                Run { first: Color(first as u8), len: len as u8 }
            })
        })
    }
}

impl From<Color> for ColorSet {
    fn from(color: Color) -> Self {
        Self(1 << color.0)
    }
}

impl FromIterator<Color> for ColorSet {
    fn from_iter<I: IntoIterator<Item = Color>>(colors: I) -> Self {
        colors.into_iter().fold(Self::EMPTY, |set, color| set | color.into())
    }
}

impl BitOr for ColorSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for ColorSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for ColorSet {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Contiguous colours: their indices differ by one (XvIso section III).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Run {
    /// The lowest.
    pub first: Color,
    /// Number of colours, at least one.
    pub len: u8,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len {
            1 => self.first.fmt(f),
            len => write!(f, "{}-{}", self.first, self.first.0 + (len - 1)),
        }
    }
}

impl fmt::Display for ColorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (i, run) in self.runs().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            run.fmt(f)?;
        }
        Ok(())
    }
}

impl FromStr for ColorSet {
    type Err = ParseColorsError;

    fn from_str(text: &str) -> Result<Self, ParseColorsError> {
        Self::parse(text.as_bytes())
    }
}

impl ColorSet {
    /// Reads a set like [`str::parse`], from text that need not be UTF-8.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseColorsError> {
        let mut set = Self::EMPTY;
        let mut at = 0;
        loop {
            skip_spaces(bytes, &mut at);
            let start = at;
            let first = read_color(bytes, &mut at)?;
            let last = if bytes.get(at) == Some(&b'-') {
                at += 1;
                read_color(bytes, &mut at)?
            } else {
                first
            };
            let error = |problem| Err(ParseColorsError { at: start, problem });
            if last < first {
                return error(ParseProblem::Backwards);
            }
            let run = Self::span(first, last);
            if !run.is_disjoint(set) {
                return error(ParseProblem::Twice(run & set));
            }
            set = set | run;
            skip_spaces(bytes, &mut at);
            match bytes.get(at) {
                None => return Ok(set),
                Some(b',') => at += 1,
                Some(_) => return Err(ParseColorsError { at, problem: ParseProblem::NotComma }),
            }
        }
    }
}

fn skip_spaces(bytes: &[u8], at: &mut usize) {
    while bytes.get(*at) == Some(&b' ') {
        *at += 1;
    }
}

fn read_color(bytes: &[u8], at: &mut usize) -> Result<Color, ParseColorsError> {
    let start = *at;
    let mut index = 0u8;
    while let Some(digit @ b'0'..=b'9') = bytes.get(*at) {
        index = index.saturating_mul(10).saturating_add(digit - b'0');
        *at += 1;
    }
    let error = |problem| ParseColorsError { at: start, problem };
    if *at == start {
        return Err(error(ParseProblem::NotColor));
    }
    Color::new(index).ok_or(error(ParseProblem::TooLarge))
}

/// The reason why a text is not a set of colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ParseColorsError {
    /// Position: bytes from the start of the text.
    pub at: usize,
    /// The mistake.
    pub problem: ParseProblem,
}

/// Mistakes in the text of a set of colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParseProblem {
    /// There is no colour where one is needed.
    NotColor,
    /// The colour is not below [`COLORS_MAX`].
    TooLarge,
    /// The range ends below its start.
    Backwards,
    /// These colours have been given before.
    Twice(ColorSet),
    /// A colour is followed by something other than a comma or the end.
    NotComma,
}

impl fmt::Display for ParseColorsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {}: ", self.at + 1)?;
        match self.problem {
            ParseProblem::NotColor => f.write_str("expected a colour, as in \"0-3,8\""),
            ParseProblem::TooLarge => write!(f, "the highest colour is {}", COLORS_MAX - 1),
            ParseProblem::Backwards => f.write_str("the range ends below its start"),
            ParseProblem::Twice(colors) => write!(f, "already given before: {colors}"),
            ParseProblem::NotComma => f.write_str("expected \",\" or the end, as in \"0-3,8\""),
        }
    }
}

impl error::Error for ParseColorsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_a_set_and_back() {
        for (text, bits, shown) in [
            ("0", 0b1, "0"),
            ("0-3,8", 0x10f, "0-3,8"),
            ("8, 0-3", 0x10f, "0-3,8"),
            (" 2 ,4 ", 0b10100, "2,4"),
            ("1,0,2", 0b111, "0-2"),
            ("5-5", 1 << 5, "5"),
            ("0-63", u64::MAX, "0-63"),
            ("63", 1 << 63, "63"),
        ] {
            let set: ColorSet = text.parse().unwrap();
            assert_eq!(set.bits(), bits, "{text}");
            assert_eq!(set.to_string(), shown);
        }
        assert_eq!(ColorSet::EMPTY.to_string(), "none");
    }

    #[test]
    fn errors_say_where() {
        for (text, at, message) in [
            ("", 0, "character 1: expected a colour, as in \"0-3,8\""),
            ("1,", 2, "character 3: expected a colour, as in \"0-3,8\""),
            ("1,-2", 2, "character 3: expected a colour, as in \"0-3,8\""),
            ("0-", 2, "character 3: expected a colour, as in \"0-3,8\""),
            ("0-64", 2, "character 3: the highest colour is 63"),
            ("99999999999999999999", 0, "character 1: the highest colour is 63"),
            ("0,7-3", 2, "character 3: the range ends below its start"),
            ("0-3, 2-5", 5, "character 6: already given before: 2-3"),
            ("0-3;8", 3, "character 4: expected \",\" or the end, as in \"0-3,8\""),
            ("1 2", 2, "character 3: expected \",\" or the end, as in \"0-3,8\""),
        ] {
            let error = text.parse::<ColorSet>().unwrap_err();
            assert_eq!((error.at, error.to_string().as_str()), (at, message), "{text:?}");
        }
    }

    #[test]
    fn colors_end_at_the_highest() {
        assert_eq!(Color::new(63).map(Color::index), Some(63));
        assert_eq!(Color::new(64), None);
    }
}
