//! Words of the command line that several commands read.

use std::num::NonZeroUsize;
use std::time::Duration;

use system::description::Objective;
use units::QuantityError;

/// Reads `linux=quiet bulkhead.job=demo`.
pub fn append(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((vm, arguments)) if !vm.is_empty() && !arguments.is_empty() => {
            Ok((vm.to_owned(), arguments.to_owned()))
        }
        _ => Err("expected the name of a VM, `=` and arguments, such as linux=quiet".into()),
    }
}

/// Reads the number of jobs at a time.
pub fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a whole number of at least 1, such as 2".into())
}

/// Reads the seed of random numbers.
pub fn seed(text: &str) -> Result<u64, String> {
    let expected = || format!("a seed is a whole number from 0 to {}, such as 7", u64::MAX);
    text.parse().map_err(|_| expected())
}

/// Reads `60s` or `500ms`.
pub fn time(text: &str) -> Result<Duration, String> {
    let expected = "expected a number with a unit, such as 500ms or 60s";
    match units::parse::<units::Duration>(text) {
        Ok(units::Duration(0)) => Err("the time must be more than 0".into()),
        Ok(time) => Ok(Duration::from_nanos(time.as_nanos())),
        Err(QuantityError::NoUnit) => Err(format!("the unit is missing: {expected}")),
        Err(QuantityError::UnknownUnit(unit)) => Err(format!("unknown unit `{unit}`: {expected}")),
        Err(QuantityError::TooLarge) => Err("the time is too long".into()),
        Err(QuantityError::NoNumber | QuantityError::NotWhole) => Err(expected.into()),
    }
}

/// Reads `most-slack`, `most-bandwidth=linux` or `least-time=2,most-slack=1`.
pub fn objective(text: &str) -> Result<Objective, String> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_arguments_name_their_vm() {
        let expected = ("linux".to_owned(), "quiet job=demo".to_owned());
        assert_eq!(append("linux=quiet job=demo"), Ok(expected));
        assert!(append("linux").is_err() && append("=quiet").is_err() && append("linux=").is_err());
    }

    #[test]
    fn there_is_at_least_one_job() {
        assert_eq!(jobs("2"), Ok(NonZeroUsize::MIN.saturating_add(1)));
        assert!(["0", "-1", "two", ""].into_iter().all(|wrong| jobs(wrong).is_err()));
    }

    #[test]
    fn a_seed_is_a_whole_number() {
        assert_eq!((seed("0"), seed("7")), (Ok(0), Ok(7)));
        assert_eq!(seed(&u64::MAX.to_string()), Ok(u64::MAX));
        assert!(["-1", "1.5", "many", ""].into_iter().all(|wrong| seed(wrong).is_err()));
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(time("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("500 ms"), Ok(Duration::from_millis(500)));
        assert!(time("60").expect_err("no unit").contains("unit is missing"));
        assert!(time("3parsec").expect_err("no unit").contains("`parsec`"));
        assert!(time("s").is_err() && time("0s").is_err() && time("-1s").is_err());
        assert!(time("99999999999999999999s").is_err());
    }
}
