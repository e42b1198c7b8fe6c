//! Moments, as documents and pages show them: UTC in the form of RFC 3339. They are counted in milliseconds from the beginning
//! of 1970, because a script can call several commands in a second.

use std::time::{Duration, UNIX_EPOCH};

use humantime::{format_rfc3339_millis, parse_rfc3339};

/// The last moment of the year 9999: later ones have no four digits.
const LAST: u64 = 253_402_300_799_999;

/// Returns a moment as `2026-11-28T08:41:40.500Z`.
pub fn written(millis: u64) -> String {
    format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(millis.min(LAST))).to_string()
}

/// Reads the form that [`written`] writes, and no other one.
pub fn read(text: &str) -> Option<u64> {
    let since = parse_rfc3339(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let millis = u64::try_from(since.as_millis()).ok()?;
    (written(millis) == text).then_some(millis)
}

/// Returns it for people: `2026-11-28 08:41`.
pub fn shown(millis: u64) -> String {
    written(millis)[..16].replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_other_clocks() {
        // As `date -u -d @SECONDS +%FT%T.%3NZ` writes them.
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z"),
            (1_795_855_300_000, "2026-11-28T08:41:40.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (LAST, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(written(millis), text);
            assert_eq!(read(text), Some(millis));
        }
        assert_eq!(written(u64::MAX), written(LAST));
        assert_eq!(shown(1_795_855_300_000), "2026-11-28 08:41");
    }

    #[test]
    fn what_is_no_date_is_none() {
        for wrong in [
            "",
            "today",
            "2026-11-28",
            "2026-11-28 08:41:40.000Z",
            "2026-11-28T08:41:40Z",
            "2026-02-29T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-01T00:60:00.000Z",
            "2026-11-28T08:41:40+01",
            "1969-12-31T23:59:59.999Z",
            "2026-+1-28T08:41:40.000Z",
            "2026-11-28T08:41:40.000Zx",
            "äää6-11-28T08:41:40.000Z",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
