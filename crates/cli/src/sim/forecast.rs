//! A forecast of the time that a simulation of a hyperperiod takes.

use std::time::{Duration, Instant};

/// Time after which the first piece of a simulation tells how long the rest takes.
const PIECE: Duration = Duration::from_millis(500);

/// Says once how long the rest of a simulation takes.
#[derive(Debug)]
pub struct Forecast {
    started: Instant,
    until_ns: u64,
    said: bool,
}

impl Forecast {
    /// The simulation begins now, and ends at this simulated time.
    pub fn new(until_ns: u64) -> Self {
        Self { started: Instant::now(), until_ns, said: false }
    }

    /// Returns the text about the simulated time.
    pub fn text(&self) -> String {
        let length = amount(Duration::from_nanos(self.until_ns));
        format!("simulating {length}: the largest offset and two hyperperiods\n")
    }

    /// Says how long the rest takes, when enough is simulated to know and this was not said before.
    pub fn rest(&mut self, now_ns: u64) -> Option<String> {
        let elapsed = self.started.elapsed();
        if self.said || elapsed < PIECE {
            return None;
        }
        self.said = true;
        let rest = rest(elapsed, now_ns, self.until_ns)?;
        Some(format!("this takes about {} more; Ctrl-C shows the results so far\n", amount(rest)))
    }
}

/// Returns the time for the rest if `now_ns` of `until_ns` took `elapsed`; `None` if nothing is
/// known, or the time is beyond all limits.
fn rest(elapsed: Duration, now_ns: u64, until_ns: u64) -> Option<Duration> {
    let rest = u128::from(until_ns.saturating_sub(now_ns));
    let ns = elapsed.as_nanos().checked_mul(rest)?.checked_div(now_ns.into())?;
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

/// Returns a length of time with two or three digits.
fn amount(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let units = [("years", 365.25 * 86_400.0), ("days", 86_400.0), ("hours", 3_600.0)];
    let long = units.into_iter().chain([("minutes", 60.0)]).find(|(_, unit)| seconds >= 2.0 * unit);
    let (name, value) = match long {
        Some((name, unit)) => (name, seconds / unit),
        None if seconds >= 1.0 => ("s", seconds),
        None => ("ms", seconds * 1e3),
    };
    match value {
        ..10.0 => format!("{value:.1} {name}"),
        _ => format!("{value:.0} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_people_use() {
        let text = |seconds| amount(Duration::from_secs_f64(seconds));
        assert_eq!([text(0.023), text(1.5), text(119.0)], ["23 ms", "1.5 s", "119 s"]);
        assert_eq!([text(120.0), text(9_000.0)], ["2.0 minutes", "2.5 hours"]);
        assert_eq!([text(1e6), text(1e10)], ["12 days", "317 years"]);
    }

    #[test]
    fn the_rest_takes_as_long_as_the_piece_did() {
        let second = Duration::from_secs(1);
        assert_eq!(rest(second, 10, 100), Some(9 * second));
        assert_eq!(rest(second, 100, 100), Some(Duration::ZERO));
        assert_eq!(rest(second, 0, 100), None);
        assert_eq!(rest(second, 1, u64::MAX), None, "more than 500 years");
    }
}
