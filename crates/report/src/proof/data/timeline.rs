//! Events over time.

use std::ops::Range;

/// A window of a run, in lanes. Events outside of the window are not shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Start and end of the window, in nanoseconds.
    pub window_ns: Range<i64>,
    /// The reason for this window, in a sentence: `around the first missed deadline`.
    pub reason: String,
    /// The lanes from top to bottom: each PCPU, then its VCPUs, each with its tasks.
    pub lanes: Vec<Lane>,
}

/// A lane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// The subject of the lane.
    pub kind: LaneKind,
    /// Its name: `PCPU 0`, `rt/0`, `fast`.
    pub name: String,
    /// Spans in order of time; spans of a kind do not overlap.
    pub spans: Vec<Span>,
    /// Events at a point in time.
    pub marks: Vec<Mark>,
}

/// Subjects of lanes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LaneKind {
    /// A PCPU, and the VCPUs that it runs.
    #[default]
    Pcpu,
    /// A VCPU.
    Vcpu,
    /// A task.
    Task,
}

/// An event that lasts for a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// Start and end, in nanoseconds.
    pub time_ns: Range<i64>,
    /// Kind of the event.
    pub kind: SpanKind,
    /// Place of the VM in [`Proof::vms`](crate::proof::Proof::vms) that it happens to: its colour.
    pub vm: Option<usize>,
    /// A description: `rt/0, budget left 1.2 ms`, `job 17`, the resource.
    pub label: String,
}

/// Kinds of events that last for a time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SpanKind {
    /// A VCPU runs, or a task executes.
    #[default]
    Runs,
    /// A VCPU has to wait, as its memory budget is used up.
    Throttled,
    /// A task waits for a resource.
    Waits,
    /// A task has a resource.
    Holds,
    /// Records of this time are missing.
    Unknown,
}

/// An event at a point in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Time in nanoseconds.
    pub at_ns: i64,
    /// Kind of the event.
    pub kind: MarkKind,
    /// A description: `job 17`.
    pub label: String,
}

/// Kinds of events at a point in time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MarkKind {
    /// A job is released.
    Release,
    /// A job is complete.
    Finish,
    /// The deadline of a job that is complete by then.
    Deadline,
    /// The deadline of a job that is not.
    Miss,
}
