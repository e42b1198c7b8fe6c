//! Numbers as people read them. Times are rounded up: a shown time is never less than the found one.

/// Milliseconds with three places, without the unit.
pub fn ms(ns: u64) -> String {
    let micros = ns.div_ceil(1_000);
    format!("{}.{:03}", count(micros / 1_000), micros % 1_000)
}

/// Returns a time with the unit that suits it.
pub fn time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => {
            let tenths = ns.div_ceil(100);
            format!("{}.{} µs", tenths / 10, tenths % 10)
        }
        1_000_000..1_000_000_000 => format!("{} ms", ms(ns)),
        _ => {
            let millis = ns.div_ceil(1_000_000);
            format!("{}.{:03} s", count(millis / 1_000), millis % 1_000)
        }
    }
}

/// Returns a point in time, which may lie before the start.
pub fn instant(ns: i64) -> String {
    let sign = if ns < 0 { "−" } else { "" };
    format!("{sign}{} ms", ms(ns.unsigned_abs()))
}

/// Milliseconds with as many places as there are, without the unit.
pub fn exact_ms(ns: i64) -> String {
    let sign = if ns < 0 { "−" } else { "" };
    let ns = ns.unsigned_abs();
    let text = format!("{sign}{}.{:06}", ns / 1_000_000, ns % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns a length of time with its unit, as it was set.
pub fn exact(ns: u64) -> String {
    match i64::try_from(ns) {
        Ok(ns) => format!("{} ms", exact_ms(ns)),
        Err(_) => time(ns),
    }
}

/// Returns a number with narrow spaces between groups of three digits.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Returns a number with its noun: `1 deadline`, `2 deadlines`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = match number {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{}\u{a0}{noun}{plural}", count(number))
}

/// Returns a size in bytes.
pub fn bytes(size: u64) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if size >= unit && size.is_multiple_of(unit) {
            return format!("{} {name}", count(size / unit));
        }
    }
    format!("{} bytes", count(size))
}

/// Parts of a whole in per cent, rounded up, without the sign; none of nothing.
pub fn percent(part: u64, whole: u64) -> Option<String> {
    let tenths = (u128::from(part) * 1_000).div_ceil(u128::from(whole.max(1)));
    let tenths = u64::try_from(tenths).unwrap_or(u64::MAX);
    (whole > 0).then(|| format!("{}.{}", count(tenths / 10), tenths % 10))
}

/// Numbers as ranges: `0–3, 8`.
pub fn ranges(numbers: &[usize]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|one, next| one + 1 == *next);
    let text: Vec<String> = runs
        .map(|run| match run {
            [first, .., last] => format!("{first}–{last}"),
            _ => run[0].to_string(),
        })
        .collect();
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up() {
        assert_eq!(ms(3_100_000), "3.100");
        assert_eq!(ms(3_100_001), "3.101");
        assert_eq!(time(999), "999 ns");
        assert_eq!(time(12_301), "12.4 µs");
        assert_eq!(time(2_000_000_001), "2.001 s");
        assert_eq!(instant(-1_500_000), "−1.500 ms");
        assert_eq!([0, 1_500_000, -20_000, 7_000_000].map(exact_ms), ["0", "1.5", "−0.02", "7"]);
        assert_eq!(exact(12_345), "0.012345 ms");
        assert_eq!(percent(1, 3).as_deref(), Some("33.4"));
        assert_eq!(percent(1, 0), None);
    }

    #[test]
    fn numbers_are_grouped_and_ranges_are_short() {
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(counted(1, "deadline"), "1\u{a0}deadline");
        assert_eq!(counted(0, "deadline"), "0\u{a0}deadlines");
        assert_eq!(counted(2, "access"), "2\u{a0}accesses");
        assert_eq!(bytes(512 << 20), "512 MiB");
        assert_eq!(bytes(1_000), "1\u{202f}000 bytes");
        assert_eq!(ranges(&[3, 0, 1, 2, 8, 8]), "0–3, 8");
        assert_eq!(ranges(&[]), "");
    }
}
