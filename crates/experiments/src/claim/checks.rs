//! The parameters of checks.

use serde::Deserialize;

/// See [`super::Check::Plateau`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plateau {
    pub(super) from: u64,
    pub(super) within_percent: f64,
}

/// A limit of a series.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    pub(super) series: String,
    pub(super) limit: f64,
}

/// Two series.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    pub(super) series: String,
    pub(super) of: String,
    pub(super) percent: f64,
}

/// See [`super::Check::Linear`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Straight {
    pub(super) series: String,
    pub(super) within_percent: f64,
}

/// See [`super::Check::Ratios`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratios {
    pub(super) series: Vec<String>,
    pub(super) of: String,
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
}

/// A series.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct One {
    pub(super) series: String,
}

/// See [`super::Check::Steadier`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steadier {
    pub(super) series: Vec<String>,
    pub(super) than: String,
}
