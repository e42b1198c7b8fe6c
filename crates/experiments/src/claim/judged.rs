//! The outcome of a check.

use serde::Serialize;

/// The verdict on a statement.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Confirmed,
    /// It does not.
    NotConfirmed,
    /// The values that are needed are not there.
    NotCheckable,
}

impl Verdict {
    /// Returns the verdict in words for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotConfirmed => "not confirmed",
            Self::NotCheckable => "not checkable",
        }
    }
}

/// A verdict and the figures that it comes from.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Judged {
    /// The verdict on the statement.
    pub verdict: Verdict,
    /// The figures that decide.
    pub measured: String,
}
