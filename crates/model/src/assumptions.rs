//! Assumptions about facts that a plan and its description do not contain.

use serde::Serialize;

/// All assumptions of a simulation.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Assumptions {
    /// Execution times of jobs, and releases of sporadic tasks.
    pub execution: Execution,
    /// Load of VCPUs without tasks, and of Linux VCPUs besides their tasks.
    pub assume: Assume,
    /// How memory accesses of PCPUs delay each other, and which accesses busy VCPUs make.
    pub contention: Contention,
}

/// Models of execution.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// Jobs execute for their longest times; sporadic tasks release jobs as often as they may
    #[default]
    Worst,
    /// Execution times are uniform between shortest and longest; sporadic tasks release a job every one to two periods
    Uniform,
    /// Jobs are released and execute as in a trace
    #[cfg_attr(feature = "clap", value(skip))]
    Traced,
}

/// Assumptions about VCPUs without tasks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Assume {
    /// These VCPUs are always busy
    #[default]
    Busy,
    /// These VCPUs are always idle
    Idle,
}

/// Assumptions about memory accesses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Contention {
    /// Busy VCPUs make one memory access after the other; an access waits until the one before it is complete
    #[default]
    Stream,
    /// Busy VCPUs make an access whenever a task of another PCPU makes one, as long as their limit lasts
    Worst,
    /// As `stream`, but no access waits for another one
    None,
}
