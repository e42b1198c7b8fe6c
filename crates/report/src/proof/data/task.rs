//! A task: its bounds, simulated responses and executed responses.

/// A task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Place of its VM in [`Proof::vms`](crate::proof::Proof::vms).
    pub vm: usize,
    /// Index of its VCPU in the VM.
    pub vcpu: usize,
    /// Name of the task.
    pub name: String,
    /// Execution time that the analysis counts with, in nanoseconds.
    pub wcet_ns: Option<u64>,
    /// Least time between two releases, in nanoseconds.
    pub period_ns: Option<u64>,
    /// Time from release to deadline, in nanoseconds; `None` if the task has no deadline.
    pub deadline_ns: Option<u64>,
    /// Memory accesses of a job that the analysis counts with.
    pub accesses: Option<u64>,
    /// Bound of the response time without isolation, in nanoseconds; none if there is none.
    pub bound_without_ns: Option<u64>,
    /// The reason why the task can be late or has no bound without isolation, in a sentence.
    pub reason_without: Option<String>,
    /// Bound with the plan, in nanoseconds; none if there is none.
    pub bound_with_ns: Option<u64>,
    /// The reason why the task can be late or has no bound with the plan, in a sentence.
    pub reason_with: Option<String>,
    /// The parts of the bound with the plan, the longest first.
    pub terms: Vec<Term>,
    /// Responses in the simulation of the plan.
    pub simulated: Option<Responses>,
    /// Responses in the run without isolation.
    pub without: Option<Responses>,
    /// Responses in the run with the plan.
    pub with: Option<Responses>,
}

/// A part of a bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Term {
    /// The part in a few words: `execution`, `jobs of fast`, `memory`.
    pub name: String,
    /// Its length in nanoseconds.
    pub time_ns: u64,
}

/// Response times of the jobs of a task: from release to completion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Responses {
    /// Jobs that were complete.
    pub jobs: u64,
    /// Deadlines that were missed, by jobs that were not complete too.
    pub missed: u64,
    /// The longest one in nanoseconds; none if no job was complete.
    pub max_ns: Option<u64>,
    /// Each of them in nanoseconds, in any order, for the histogram; may be empty.
    pub times_ns: Vec<u64>,
}
