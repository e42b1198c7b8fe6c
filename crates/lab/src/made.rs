//! The program and the time that made a document, so that documents can be put in order.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use report::date;
use serde::Serialize;

/// The variable that sets the time in documents, in seconds after the beginning of 1970: with it, documents of the same
/// result are the same.
const VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// Returns the mistake in the value of `SOURCE_DATE_EPOCH`, if it is set and no time.
pub fn wrong_time() -> Option<String> {
    let text = env::var_os(VARIABLE)?;
    let seconds = text.to_str().and_then(|text| text.parse::<u64>().ok());
    let known = seconds.is_some_and(|it| it <= SECONDS_MAX);
    (!known).then(|| {
        format!(
            "{VARIABLE} is `{}`, and not a number of seconds after the beginning of 1970, up to {SECONDS_MAX}\n\
             help: unset it, or set it as in `{VARIABLE}=$(git log -1 --format=%ct)`",
            text.display()
        )
    })
}

/// The end of the year 9999, after which dates have more than four digits.
const SECONDS_MAX: u64 = 253_402_300_799;

/// The origin of a document.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Made {
    /// The command, such as `prove`.
    pub by: &'static str,
    /// The version of Bulkhead.
    pub version: &'static str,
    /// The time, such as `2026-11-28T08:41:40.500Z`.
    pub time: String,
}

/// A document, with its origin.
#[derive(Debug, Serialize)]
pub struct With<'d, D> {
    #[serde(flatten)]
    document: &'d D,
    made: Made,
}

impl Made {
    /// Made by this command, now.
    pub fn now(by: &'static str) -> Self {
        let set = env::var(VARIABLE).ok().and_then(|text| text.parse::<u64>().ok());
        let set = set.map(|seconds| seconds.saturating_mul(1_000));
        let now =
            || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis() as u64);
        let time = date::written(set.unwrap_or_else(now));
        Self { by, version: env!("CARGO_PKG_VERSION"), time }
    }

    /// Returns the time for people: `2026-11-28 08:41`.
    pub fn shown(&self) -> String {
        date::read(&self.time).map(date::shown).unwrap_or_default()
    }

    /// Adds this to a document, under the name `made`.
    pub fn with<D: Serialize>(self, document: &D) -> With<'_, D> {
        With { document, made: self }
    }
}
