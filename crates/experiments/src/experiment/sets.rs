//! The random task sets of an experiment.

use serde::{Deserialize, Serialize};

/// The task sets of an experiment that allocates some. What is not said is as in vCache, Table 3.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    /// Number of task sets.
    pub sets: u64,
    /// Number of task sets with `--quick`.
    pub quick_sets: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Fewest and most tasks.
    pub tasks: [u64; 2],
    /// Utilisation of all tasks with one colour each.
    pub utilization: f64,
    /// Number of VCPUs of each VM.
    pub vcpus: usize,
    /// Colours of the cache.
    pub colors: usize,
    /// Deadlines in percent of periods.
    #[serde(default = "implicit")]
    pub deadline_percent: u64,
    /// Longest time to load a colour again, in microseconds.
    pub reload_us: u64,
}

fn implicit() -> u64 {
    100
}

/// The task sets of an experiment about locks. What is not said is as in vMPCP, Table I.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Locks {
    /// Number of task sets.
    pub sets: u64,
    /// Number of task sets with `--quick`.
    pub quick_sets: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The quantity that `x` is.
    pub vary: Vary,
}

/// The systems of an experiment that plans them by several methods.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// Number of systems at each place.
    pub sets: u64,
    /// Number of systems with `--quick`.
    pub quick_sets: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of VMs.
    pub vms: usize,
    /// Number of VCPUs of each VM.
    pub vcpus: usize,
    /// Fewest and most tasks of a VM; more if each would be too large.
    pub tasks: [u64; 2],
    /// The period of all VCPUs, in microseconds.
    pub vcpu_period_us: u64,
}

/// The task sets of an experiment about chains.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Chains {
    /// Number of task sets at each place.
    pub sets: u64,
    /// Number of task sets with `--quick`.
    pub quick_sets: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The way to draw their tasks.
    pub tasks: Tasks,
    /// Fewest and most chains of a task set.
    pub chains: [u64; 2],
}

/// The way to draw tasks.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tasks {
    /// Runnables of engine control units, each a task (Kramer, Ziegenbein and Hamann, WATERS 2015).
    Automotive,
    /// From fewest to most tasks by UUniFast, with periods as above.
    Uniform([u64; 2]),
}

/// The quantity that differs from place to place.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vary {
    /// Length of a section in microseconds.
    SectionUs,
    /// Tasks that lock a mutex.
    Lockers,
    /// Sections of each task.
    SectionsPerTask,
    /// Period of VCPUs in milliseconds.
    VcpuPeriodMs,
    /// Utilisation of the tasks of a VCPU in percent.
    UtilizationPercent,
}
