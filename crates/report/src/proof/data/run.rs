//! A run or a simulation: its results besides the responses of tasks.

use super::cache::Cache;
use super::timeline::Timeline;

/// A run or a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Duration of the run in the time of the guests, in nanoseconds.
    pub time_ns: u64,
    /// The events on the PCPUs, in an interesting window.
    pub timeline: Option<Timeline>,
    /// Counts of the last-level cache.
    pub cache: Option<Cache>,
    /// The result of each VM, in the order of [`Proof::vms`](crate::proof::Proof::vms); may be
    /// empty.
    pub vms: Vec<VmRun>,
    /// The use of resources, by resource and task.
    pub sections: Vec<Section>,
    /// Further notes, a sentence each.
    pub notes: Vec<String>,
}

/// The result of a VM.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VmRun {
    /// The state of the VM at the end: `off`, `running`, `stopped: ...`.
    pub state: String,
    /// Restarts.
    pub restarts: u64,
    /// Number of exits to the hypervisor.
    pub exits: Option<u64>,
    /// Time that the VM waited for the memory bus, in nanoseconds.
    pub bus_wait_ns: Option<u64>,
    /// Lines that were moved to and from memory for it.
    pub memory_lines: Option<u64>,
}

/// The use of a resource by a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Name of the resource.
    pub resource: String,
    /// Place of the task in [`Proof::tasks`](crate::proof::Proof::tasks).
    pub task: usize,
    /// Number of times that the task got the resource.
    pub times: u64,
    /// Number of times that the task had to wait for it.
    pub waits: u64,
    /// Its longest time from the request to the resource, in nanoseconds.
    pub wait_max_ns: u64,
    /// Its longest time from getting it to its release, in nanoseconds.
    pub hold_max_ns: u64,
}
