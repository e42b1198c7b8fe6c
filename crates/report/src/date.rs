//! Moments, as documents and pages show them: UTC in the form of RFC 3339. They are counted in milliseconds from the beginning
//! of 1970, because a script can call several commands in a second.

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The last moment of the year 9999: later ones have no four digits.
const LAST: u64 = 253_402_300_799_999;

/// Returns a moment as `2026-11-28T08:41:40.500Z`.
pub fn written(millis: u64) -> String {
    let (seconds, millis) = (millis.min(LAST) / 1_000, millis.min(LAST) % 1_000);
    let (year, month, day) = civil(seconds / DAY);
    let of_day = seconds % DAY;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Reads what [`written`] writes.
pub fn read(text: &str) -> Option<u64> {
    let number = |from: usize, until: usize| text.get(from..until)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let millis = number(20, 23)?;
    let is_there = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
    let seconds =
        is_there.then(|| days(year, month, day) * DAY + hour * 3_600 + minute * 60 + second)?;
    // Separators, signs and numbers that are too large come out as another text.
    let found = seconds * 1_000 + millis;
    (written(found) == text).then_some(found)
}

/// Returns it for people: `2026-11-28 08:41`.
pub fn shown(millis: u64) -> String {
    written(millis)[..16].replace('T', " ")
}

/// Year, month and day of a day after the first of January 1970. The years begin in March here, so that the day that
/// not all of them have is their last.
fn civil(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, of_month)
}

/// Days from the first of January 1970 to a day.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
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
    fn every_day_is_read_as_it_is_written() {
        for day in (0..LAST / 1_000 / DAY).step_by(13) {
            let last = (day + 1) * DAY * 1_000 - 1;
            assert_eq!(read(&written(last)), Some(last));
        }
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
