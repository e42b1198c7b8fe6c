//! Parts in per cent.

/// Shows millionths in per cent, rounded down: for parts that there are.
pub(super) fn tenths(ppm: u64) -> String {
    format!("{}.{} %", ppm / 10_000, ppm / 1_000 % 10)
}

/// Shows millionths in per cent, rounded up: for parts that are needed.
pub(super) fn tenths_up(ppm: u64) -> String {
    tenths(ppm.div_ceil(1_000).saturating_mul(1_000))
}

/// Shows millionths in per cent exactly.
pub(super) fn exactly(ppm: u64) -> String {
    format!("{}.{:04} %", ppm / 10_000, ppm % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_rounded_up_and_what_there_is_down() {
        for (ppm, needed, there) in [
            (0, "0.0 %", "0.0 %"),
            (999_900, "100.0 %", "99.9 %"),
            (1_000_000, "100.0 %", "100.0 %"),
            (1_000_001, "100.1 %", "100.0 %"),
        ] {
            assert_eq!((tenths_up(ppm).as_str(), tenths(ppm).as_str()), (needed, there));
        }
        assert_eq!(exactly(123_456), "12.3456 %");
    }
}
