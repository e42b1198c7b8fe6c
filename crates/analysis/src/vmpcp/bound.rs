//! Bounds of a system.

use crate::{Duration, Failure};

/// A bound for the response time of a task, and parts of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bound {
    /// The bound: from arrival to completion, jitter included.
    pub time: Duration,
    /// The window at the end of which the job with the longest response time is complete: `W_i`.
    pub window: Duration,
    /// Jobs of the task in that window, this one counted.
    pub jobs: u64,
    /// Jitter with which the task delays tasks below: the time for which it can wait before it
    /// executes.
    pub jitter: Duration,
    /// Jobs of these that tasks below can block: all if the task waits for others, else the first one.
    pub blocked: u64,
    /// Local blocking `B^l` of all of these jobs: sections of tasks below in the same VCPU, and
    /// blocking for other reasons.
    pub local: Duration,
    /// Remote blocking `B^r` of all of these jobs: waiting for resources.
    pub remote: Duration,
}

/// Bounds for all VCPUs and tasks of a system, by their numbers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Bounds {
    /// `W^v`: longest time until a VCPU has its budget.
    pub servers: Vec<Result<Duration, Failure>>,
    /// Tasks. Failures name tasks by these numbers.
    pub tasks: Vec<Result<Bound, Failure>>,
}
