//! Amounts as people read them.

use units::Duration;

/// Shows a time in the largest unit that needs at most three decimals.
pub fn time(nanoseconds: u64) -> String {
    for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
        if nanoseconds >= unit && nanoseconds.is_multiple_of(unit / 1_000) {
            let thousandths = format!("{:03}", nanoseconds % unit / (unit / 1_000));
            let fraction = thousandths.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            return format!("{}{point}{fraction} {name}", nanoseconds / unit);
        }
    }
    Duration(nanoseconds).to_string()
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
    fn times_are_exact_and_short() {
        for (nanoseconds, shown) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_500, "1.5 us"),
            (28_500_000, "28.5 ms"),
            (1_000_001, "1000.001 us"),
            (1_234_567_891, "1234567.891 us"),
            (2_000_000_000, "2 s"),
        ] {
            assert_eq!(time(nanoseconds), shown);
        }
        assert_eq!(signed(-1_500_000), "-1.5 ms");
        assert_eq!((percent(1_000_000).as_str(), percent(123_456).as_str()), ("100.0 %", "12.3 %"));
    }
}
