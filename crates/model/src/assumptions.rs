//! What is assumed about what plans and descriptions do not say.

use serde::Serialize;

/// All assumptions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Assumptions {
    /// How long jobs execute, and how often sporadic tasks release some.
    pub execution: Execution,
    /// What VCPUs without tasks do, and those of Linux besides their tasks.
    pub assume: Assume,
    /// How memory accesses of PCPUs delay each other, and what VCPUs access that are always busy.
    pub contention: Contention,
}

/// Models of execution.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// Each job for its longest time; sporadic tasks as often as they may
    #[default]
    Worst,
    /// Uniformly between the shortest and the longest time; sporadic tasks one to two periods apart
    Uniform,
    /// As in a trace
    #[cfg_attr(feature = "clap", value(skip))]
    Traced,
}

/// What is assumed about VCPUs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Assume {
    /// They always have something to do
    #[default]
    Busy,
    /// They never have anything to do
    Idle,
}

/// What is assumed about memory accesses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Contention {
    /// Busy VCPUs access memory one time after the other; who comes meanwhile waits
    #[default]
    Stream,
    /// Busy VCPUs access memory just when tasks of other PCPUs do, as often as they may
    Worst,
    /// As `stream`, but nobody waits
    None,
}
