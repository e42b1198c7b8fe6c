//! Chains of tasks, and which of their bounds are measured.

use serde::{Deserialize, Serialize};

/// A chain. Times are in the unit of its source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// The place of its values.
    pub name: String,
    /// Its tasks, in the order of the data.
    pub tasks: Vec<Stage>,
}

/// A task with a period: it has a response time, or a logical execution time.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Time between nominal releases.
    pub period: u64,
    /// The largest delay of a release.
    #[serde(default)]
    pub jitter: u64,
    /// Release of the first job.
    #[serde(default)]
    pub offset: i64,
    /// Shortest time from a release to the output.
    #[serde(default)]
    pub bcrt: u64,
    /// Longest time from a release to the output.
    pub wcrt: Option<u64>,
    /// Time from a release to the output, if that is always the same.
    pub interval: Option<u64>,
}

/// The offsets that an analysis job by job takes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offsets {
    /// The offsets of the chain.
    Given,
    /// The offsets with the longest age.
    Worst,
}

/// The time of a chain that is bounded.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The time from a change of the state that the first task reads to the first output that knows it.
    ReactionTime,
    /// The time from reading the state to the end of the output that was made from it.
    DataAge,
    /// The time from reading the state to the beginning of that output.
    ReducedDataAge,
}

/// A bound of the random chains.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The bound.
    pub bound: Bound,
    /// The chain that counts.
    pub take: Quantile,
}

/// The one of many values that counts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantile {
    /// The least.
    Least,
    /// Above a quarter of them.
    LowerQuartile,
    /// The one in the middle.
    Median,
    /// Above three quarters of them.
    UpperQuartile,
    /// The greatest.
    Greatest,
    /// The mean.
    Mean,
}
