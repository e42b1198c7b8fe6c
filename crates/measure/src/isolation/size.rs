//! Sizes of memory as people type them.

use std::fmt;
use std::str::FromStr;

/// A size of memory. `64k`, `64K`, `64KB` and `64KiB` are all 65,536 bytes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Size(pub u64);

/// Units, largest first.
const UNITS: [(char, u32); 3] = [('G', 30), ('M', 20), ('K', 10)];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is no size: expected one such as 64KiB, 8m or 1G");
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim_start().to_ascii_uppercase();
        let shift = match unit.as_str() {
            "B" => 0,
            _ => {
                let (letter, shift) =
                    UNITS.into_iter().find(|(it, _)| unit.starts_with(*it)).ok_or_else(expected)?;
                match unit.strip_prefix(letter) {
                    Some("" | "B" | "IB") => shift,
                    _ => return Err(expected()),
                }
            }
        };
        let number: u64 = number.parse().map_err(|_| expected())?;
        match number.checked_mul(1 << shift) {
            Some(bytes) if bytes > 0 => Ok(Self(bytes)),
            Some(_) => Err(format!("`{text}` is no size: it must be more than 0")),
            None => Err(format!("`{text}` is too large")),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.into_iter().find(|(_, shift)| self.0.trailing_zeros() >= *shift && self.0 > 0) {
            Some((letter, shift)) => write!(f, "{}{letter}iB", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_type_them() {
        for text in ["64k", "64K", "64KB", "64 KiB", "65536B"] {
            assert_eq!(text.parse(), Ok(Size(65536)), "{text}");
        }
        for text in ["", "64", "k", "64q", "64kk", "1.5m", "0k", "99999999999999999999k", "-1k"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_in_their_largest_whole_unit() {
        let shown = [100, 65536, 8 << 20, 3 << 30].map(|bytes| Size(bytes).to_string());
        assert_eq!(shown, ["100B", "64KiB", "8MiB", "3GiB"]);
    }
}
