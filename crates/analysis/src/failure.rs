//! Failures: there is no bound, or the bound is above the deadline.

use crate::Duration;

/// The reason why an analysis fails. `task` is the index of a task, or of a VCPU in analyses of
/// VCPUs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The bound of the response time is above the deadline.
    #[error("task {task} can take {at_least} and more; its deadline is {deadline}")]
    Unschedulable {
        /// Index of the task or VCPU.
        task: usize,
        /// The bound is not shorter than this.
        at_least: Duration,
        /// The deadline; of a VCPU the period.
        deadline: Duration,
    },
    /// This task and those above it need more time in the long run than they get.
    #[error("the tasks down to number {task} need more time than there is")]
    Overload {
        /// Index of the task or VCPU.
        task: usize,
    },
    /// The search took more steps than it may ([`crate::Limits`]).
    #[error("task {task}: no bound was found within the limits of the search")]
    LimitReached {
        /// Index of the task or VCPU.
        task: usize,
    },
    /// The bound is longer than [`crate::LONGEST`].
    #[error("task {task}: the bound is longer than can be counted")]
    Overflow {
        /// Index of the task or VCPU.
        task: usize,
    },
    /// A task above this one has no bound, and this one's would depend on it.
    #[error("task {task}: task {on}, which suspends itself, has no bound")]
    Depends {
        /// Index of the task or VCPU.
        task: usize,
        /// The task above it.
        on: usize,
    },
    /// Accesses of other PCPUs can delay the task, but neither its own accesses and those of tasks
    /// above are known, nor do the others have budgets.
    #[error("task {task}: nothing limits for how long it waits for memory because of others")]
    Interference {
        /// Index of the task or VCPU.
        task: usize,
    },
    /// Its VCPU has a budget of accesses, and the number of times that it waits for this budget is
    /// unknown.
    #[error("task {task}: nothing limits for how long its VCPU waits for its memory budget")]
    Throttled {
        /// Index of the task or VCPU.
        task: usize,
    },
    /// Nothing limits how long the task waits for a resource: the tasks ahead in the queue have no
    /// bound, make too many requests, or hold the resource for ever. For a VCPU: nothing limits how
    /// often VCPUs below, which run first in sections, are in sections.
    #[error("task {task}: nothing limits for how long others keep it from a resource")]
    Others {
        /// Index of the task or VCPU.
        task: usize,
    },
    /// Tasks of its VCPU, this one or others, are so late that the hypervisor can refuse them entry
    /// into sections.
    #[error("task {task}: late tasks of its VCPU use up the entries into sections that it has")]
    Refused {
        /// Index of the task or VCPU.
        task: usize,
    },
    /// There are critical sections together with something with which they are not analysed: memory
    /// accesses whose delays are not counted, caches whose lines others evict, tasks of the same
    /// priority, sporadic servers, or tasks in the background class.
    #[error(
        "task {task}: critical sections are not analysed together with caches, memory accesses, \
         tasks of the same priority, sporadic servers or the background class"
    )]
    Combined {
        /// Index of the task or VCPU.
        task: usize,
    },
    /// The hypervisor may take more time of its VCPU in a section than `section_overhead` allows.
    #[error("task {task}: the hypervisor may take more in a section than is allowed for")]
    SectionOverhead {
        /// Index of the task or VCPU.
        task: usize,
    },
    /// The VCPU of the task is guaranteed no processor time: its server fails, or another VCPU of
    /// the background class is above it.
    #[error("task {task}: its VCPU is guaranteed no processor time")]
    NoSupply {
        /// Index of the task or VCPU.
        task: usize,
    },
}

impl Failure {
    /// Returns the task, or the VCPU, for which the analysis failed.
    pub fn task(&self) -> usize {
        match *self {
            Self::Unschedulable { task, .. }
            | Self::Overload { task }
            | Self::LimitReached { task }
            | Self::Overflow { task }
            | Self::NoSupply { task }
            | Self::Interference { task }
            | Self::Throttled { task }
            | Self::Others { task }
            | Self::Refused { task }
            | Self::Combined { task }
            | Self::SectionOverhead { task }
            | Self::Depends { task, .. } => task,
        }
    }

    /// The reason without its numbers.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unschedulable { .. } => Reason::Unschedulable,
            Self::Overload { .. } => Reason::Overload,
            Self::LimitReached { .. } => Reason::LimitReached,
            Self::Overflow { .. } => Reason::Overflow,
            Self::Depends { .. } => Reason::Depends,
            Self::NoSupply { .. } => Reason::NoSupply,
            Self::Interference { .. } => Reason::Memory,
            Self::Throttled { .. } => Reason::MemoryBudget,
            Self::Others { .. } => Reason::Others,
            Self::Refused { .. } => Reason::Refused,
            Self::Combined { .. } => Reason::Combined,
            Self::SectionOverhead { .. } => Reason::SectionOverhead,
        }
    }
}

/// The reason why there is no bound, or none that is good enough.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Reason {
    /// [`Failure::Unschedulable`]
    Unschedulable,
    /// [`Failure::Overload`]
    Overload,
    /// [`Failure::LimitReached`]
    LimitReached,
    /// [`Failure::Overflow`]
    Overflow,
    /// [`Failure::Depends`]
    Depends,
    /// [`Failure::NoSupply`]
    NoSupply,
    /// [`Failure::Interference`]
    Memory,
    /// [`Failure::Throttled`]
    MemoryBudget,
    /// [`Failure::Others`]
    Others,
    /// [`Failure::Refused`]
    Refused,
    /// [`Failure::Combined`]
    Combined,
    /// [`Failure::SectionOverhead`]
    SectionOverhead,
    /// The execution time is described for more colours than the task has.
    UnknownWcet,
}

impl Reason {
    /// Returns the word in documents, which is stable.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unschedulable => "unschedulable",
            Self::Overload => "overload",
            Self::LimitReached => "limit-reached",
            Self::Overflow => "overflow",
            Self::Depends => "depends",
            Self::NoSupply => "no-supply",
            Self::Memory => "memory",
            Self::MemoryBudget => "memory-budget",
            Self::Others => "others",
            Self::Refused => "refused",
            Self::Combined => "combined",
            Self::SectionOverhead => "section-overhead",
            Self::UnknownWcet => "unknown-wcet",
        }
    }
}
