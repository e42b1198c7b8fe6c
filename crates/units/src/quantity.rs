//! Quantities in texts: a number and a unit, as in `3ms` or `512KiB`.

use crate::{Bytes, Duration, Frequency, Rate};

/// A type that is written as a number with a unit.
pub trait Quantity: Sized {
    /// Name of the quantity, as in "a time".
    const WHAT: &'static str;
    /// Its units and how many of the smallest one each of them is.
    const UNITS: &'static [(&'static str, u64)];
    /// An example of its text.
    const EXAMPLE: &'static str;

    /// Returns the quantity for a number of the smallest unit.
    fn from_smallest(number: u64) -> Self;
}

impl Quantity for Duration {
    const WHAT: &'static str = "a time";
    const UNITS: &'static [(&'static str, u64)] =
        &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    const EXAMPLE: &'static str = "3ms";

    fn from_smallest(number: u64) -> Self {
        Self(number)
    }
}

impl Quantity for Bytes {
    const WHAT: &'static str = "a size";
    const UNITS: &'static [(&'static str, u64)] =
        &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    const EXAMPLE: &'static str = "512MiB";

    fn from_smallest(number: u64) -> Self {
        Self(number)
    }
}

impl Quantity for Frequency {
    const WHAT: &'static str = "a frequency";
    const UNITS: &'static [(&'static str, u64)] =
        &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];
    const EXAMPLE: &'static str = "62.5MHz";

    fn from_smallest(number: u64) -> Self {
        Self(number)
    }
}

impl Quantity for Rate {
    const WHAT: &'static str = "a rate";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("B/s", 1),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
        ("kB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
    ];
    const EXAMPLE: &'static str = "80MB/s";

    fn from_smallest(number: u64) -> Self {
        Self(number)
    }
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum QuantityError {
    /// The text does not start with a number.
    NoNumber,
    /// There is no unit behind the number.
    NoUnit,
    /// There is no such unit.
    UnknownUnit(String),
    /// The quantity is not a whole number of the smallest unit.
    NotWhole,
    /// The quantity has more than 64 bits.
    TooLarge,
}

/// Reads `12ms`, `12 ms` or `1.5ms`: exact, without floating point.
///
/// # Errors
///
/// See [`QuantityError`].
pub fn parse<Q: Quantity>(text: &str) -> Result<Q, QuantityError> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
        return Err(QuantityError::NoNumber);
    }
    let unit = unit.trim();
    if unit.is_empty() {
        return Err(QuantityError::NoUnit);
    }
    let (_, smallest) = Q::UNITS
        .iter()
        .find(|(name, _)| *name == unit || (*name == "us" && (unit == "µs" || unit == "μs")))
        .ok_or_else(|| QuantityError::UnknownUnit(unit.to_owned()))?;

    let fraction = fraction.trim_end_matches('0');
    let scale = u32::try_from(fraction.len()).ok().and_then(|digits| 10u128.checked_pow(digits));
    let scale = scale.ok_or(QuantityError::NotWhole)?;
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| QuantityError::TooLarge)?;
    let scaled = digits.checked_mul(u128::from(*smallest)).ok_or(QuantityError::TooLarge)?;
    if scaled % scale != 0 {
        return Err(QuantityError::NotWhole);
    }
    u64::try_from(scaled / scale).map(Q::from_smallest).map_err(|_| QuantityError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_exact() {
        for (text, nanos) in [
            ("3ms", 3_000_000),
            (" 3 ms ", 3_000_000),
            ("1.5ms", 1_500_000),
            ("0.000000001s", 1),
            ("10µs", 10_000),
            ("1_000us", 1_000_000),
            ("18446744073709551615ns", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(Duration(nanos)), "{text}");
        }
        assert_eq!(parse("512MiB"), Ok(Bytes::mib(512)));
        assert_eq!(parse("0.5KiB"), Ok(Bytes(512)));
    }

    #[test]
    fn what_is_not_a_quantity_is_told_apart() {
        use QuantityError::*;
        for (text, error) in [
            ("", NoNumber),
            ("ms", NoNumber),
            ("-3ms", NoNumber),
            ("1.2.3ms", NoNumber),
            ("3.ms", NoNumber),
            ("3", NoUnit),
            ("3KiB", UnknownUnit("KiB".into())),
            ("1.5ns", NotWhole),
            ("0.00000000000000000000000000000000000000000000000001s", NotWhole),
            ("18446744073709551616ns", TooLarge),
            ("99999999999999999999999999999999999999999999s", TooLarge),
        ] {
            assert_eq!(parse::<Duration>(text), Err(error), "{text}");
        }
    }

    #[test]
    fn shown_quantities_are_read_back() {
        for nanos in [0, 1, 999, 1_000, 1_500_000, 7_000_000_000, u64::MAX] {
            assert_eq!(parse(&Duration(nanos).to_string()), Ok(Duration(nanos)));
        }
        for bytes in [0, 1, 4096, 3 << 20, 5 << 40, u64::MAX] {
            assert_eq!(parse(&Bytes(bytes).to_string()), Ok(Bytes(bytes)));
        }
    }
}
