//! Amounts as people read them.

use units::Duration;

/// Shows a time in the largest unit that needs at most three decimals.
pub fn time(nanoseconds: u64) -> String {
    Duration(nanoseconds).short()
}

/// Shows a time with its sign, in the same way.
pub fn signed(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    format!("{sign}{}", time(nanoseconds.unsigned_abs()))
}

/// Shows millionths in per cent with one decimal, rounded.
pub fn percent(ppm: u64) -> String {
    let tenths = ppm.saturating_add(500) / 1_000;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Returns a part in millionths, rounded down; 0 of nothing.
pub fn ppm(part: u64, all: u128) -> u64 {
    (u128::from(part) * 1_000_000).checked_div(all).unwrap_or(0) as u64
}

/// Returns a time in microseconds with three digits behind the point.
pub fn micros(ns: i64) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    format!("{sign}{}.{:03} us", ns / 1000, ns % 1000)
}

/// Returns a length of time in microseconds with three digits behind the point.
pub fn length(ns: u64) -> String {
    micros(i64::try_from(ns).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_signs_and_parts_a_decimal() {
        assert_eq!(signed(-1_500_000), "-1.5 ms");
        assert_eq!((percent(1_000_000).as_str(), percent(123_456).as_str()), ("100.0 %", "12.3 %"));
    }
}
