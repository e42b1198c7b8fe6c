//! Why there is no bound, or none that is good enough.

use serde::Serialize;

use crate::Duration;

/// The reason why an analysis does not say yes. `task` is the index of a task, or of a VCPU where
/// VCPUs are analysed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The bound of the response time is above the deadline.
    #[error("task {task} can take {at_least} and more; its deadline is {deadline}")]
    Unschedulable {
        /// Which one.
        task: usize,
        /// The bound is not shorter than this.
        at_least: Duration,
        /// The deadline; of a VCPU the period.
        deadline: Duration,
    },
    /// This task and those above it need more time in the long run than there is.
    #[error("the tasks down to number {task} need more time than there is")]
    Overload {
        /// Which one.
        task: usize,
    },
    /// The search took more steps than it may ([`crate::Limits`]).
    #[error("task {task}: no bound was found within the limits of the search")]
    LimitReached {
        /// Which one.
        task: usize,
    },
    /// The bound is longer than [`crate::LONGEST`].
    #[error("task {task}: the bound is longer than can be counted")]
    Overflow {
        /// Which one.
        task: usize,
    },
    /// A task above this one has no bound, and this one's would depend on it.
    #[error("task {task}: task {on}, which suspends itself, has no bound")]
    Depends {
        /// Which one.
        task: usize,
        /// The task above it.
        on: usize,
    },
    /// Accesses of other PCPUs can delay it, and neither are its own known, or those of tasks
    /// above, nor do the others have budgets.
    #[error("task {task}: nothing limits for how long it waits for memory because of others")]
    Interference {
        /// Which one.
        task: usize,
    },
    /// Its VCPU has a budget of accesses, and it is not known how often it has to wait for that.
    #[error("task {task}: nothing limits for how long its VCPU waits for its memory budget")]
    Throttled {
        /// Which one.
        task: usize,
    },
    /// Nothing limits for how long it waits for a resource: those that are ahead in the queue have no
    /// bound, ask too often, or hold it for ever. Of a VCPU: nothing limits how often VCPUs below, which go first in
    /// sections, are in some.
    #[error("task {task}: nothing limits for how long others keep it from a resource")]
    Others {
        /// Which one.
        task: usize,
    },
    /// Tasks of its VCPU, this one or others, are so late that the hypervisor can refuse to let them into
    /// sections.
    #[error("task {task}: late tasks of its VCPU use up the entries into sections that it has")]
    Refused {
        /// Which one.
        task: usize,
    },
    /// There are critical sections, and things beside them with which they are not analysed:
    /// memory accesses that others delay, caches whose contents others evict, tasks of the same priority, sporadic
    /// servers, or tasks with sections in the background class.
    #[error(
        "task {task}: critical sections are not analysed together with caches, memory accesses, \
         tasks of the same priority, sporadic servers or the background class"
    )]
    Combined {
        /// Which one.
        task: usize,
    },
    /// The hypervisor may take more of the time of its VCPU in a section than `section_overhead` allows for.
    #[error("task {task}: the hypervisor may take more in a section than is allowed for")]
    SectionOverhead {
        /// Which one.
        task: usize,
    },
    /// Nothing is known about the time that its VCPU gets: the server of that VCPU fails, or
    /// another VCPU of the background class is above it.
    #[error("task {task}: its VCPU has no time for sure")]
    NoSupply {
        /// Which one.
        task: usize,
    },
}

impl Failure {
    /// Returns the task, or the VCPU, for which it failed.
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

/// Why there is no bound, or none that is good enough: a stable word for documents.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
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
