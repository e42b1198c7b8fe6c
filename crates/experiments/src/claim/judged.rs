//! The outcome of a check.

use serde::Serialize;

/// Whether a statement holds.
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
    /// For people.
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
    /// Whether the statement holds.
    pub verdict: Verdict,
    /// The figures that decide.
    pub measured: String,
}
