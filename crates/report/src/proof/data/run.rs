//! A run or a simulation: what happened besides the responses of tasks.

use super::cache::Cache;
use super::timeline::Timeline;

/// A run or a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// How long it took in the time of the guests, in nanoseconds.
    pub time_ns: u64,
    /// What happened on the PCPUs, in a window that is worth a look.
    pub timeline: Option<Timeline>,
    /// What happened in the last-level cache.
    pub cache: Option<Cache>,
    /// What happened to each VM, in the order of [`Proof::vms`](crate::proof::Proof::vms); may be
    /// empty.
    pub vms: Vec<VmRun>,
    /// What happened to resources, by resource and task.
    pub sections: Vec<Section>,
    /// What else is to be said of it, a sentence each.
    pub notes: Vec<String>,
}

/// What happened to a VM.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VmRun {
    /// How it ended: `off`, `running`, `stopped: ...`.
    pub state: String,
    /// Restarts.
    pub restarts: u64,
    /// How often the hypervisor was entered.
    pub exits: Option<u64>,
    /// For how long it waited for the memory bus, in nanoseconds.
    pub bus_wait_ns: Option<u64>,
    /// Lines that were moved to and from memory for it.
    pub memory_lines: Option<u64>,
}

/// What a task did with a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Name of the resource.
    pub resource: String,
    /// Place of the task in [`Proof::tasks`](crate::proof::Proof::tasks).
    pub task: usize,
    /// How often it got the resource.
    pub times: u64,
    /// How often it had to wait for it.
    pub waits: u64,
    /// Its longest time from the request to the resource, in nanoseconds.
    pub wait_max_ns: u64,
    /// Its longest time from getting it to its release, in nanoseconds.
    pub hold_max_ns: u64,
}
