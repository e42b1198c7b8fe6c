//! The steps of a chain.

use crate::Duration;
use crate::chain::{Delay, EventStream};

/// A step of data on its way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// An event-triggered task: each output of the step before activates one job, which processes
    /// that output. Outputs wait in a queue, in which none is lost.
    Triggered(Delay),
    /// A time-triggered task, which reads the latest output of the step before.
    Sampling(Sampling),
    /// A task with a logical execution time.
    Let(Let),
    /// A channel, which delivers each message within this time, in the order in which they were
    /// sent. Its reader is the next step.
    Channel(Delay),
}

/// A time-triggered task: a job for each event of a stream of its own.
///
/// A job reads once the latest output of the step before, at any time from its release to its
/// completion, and writes its own output when it completes. It may read at its start (implicit
/// communication) or later (explicit communication).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sampling {
    /// The releases.
    pub releases: EventStream,
    /// The time from release to output.
    pub delay: Delay,
    /// True if a job can only start, and read, when no job of the step before is pending. This
    /// holds if both are tasks of one VCPU, jobs read at their start, and the step before has the
    /// higher priority and never suspends itself.
    pub starts_after_writer: bool,
}

/// A task with a logical execution time: a job reads exactly at its nominal release, and its output
/// becomes visible exactly one interval later (Henzinger, Horowitz and Kirsch, "Giotto", 2003).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Let {
    /// The time from release to release.
    pub period: Duration,
    /// The time from release to output.
    pub interval: Duration,
    /// The longest time from the nominal release to the completion: at most the interval, or there
    /// is no such task.
    pub completion: Duration,
}
