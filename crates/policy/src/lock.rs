//! Locks that tasks of different VCPUs and VMs share: vMPCP, and MPCP for comparison.
//!
//! A task holds one resource at a time, in a *critical section*. A resource is *global* if tasks of
//! several VCPUs use it, otherwise *local*. The rules are those of vMPCP (section III.A):
//!
//! - [`queue`]: the tasks that wait for a global resource, ordered by VCPU and then by task;
//! - [`mutex`]: one global resource: its owner and its queue;
//! - [`table`]: all global resources, and those that each VCPU holds: the rights to lock, the
//!   resources of owners that die, and the VCPUs in global critical sections;
//! - [`hold`]: the limit on the time that a VCPU executes in critical sections;
//! - [`crate::rate`]: the limit on the number of critical sections that a VCPU enters;
//! - [`pcp`]: the local resources of a VCPU, by the priority ceiling protocol.
//!
//! Ceilings are not numbers here but an order. Tasks in global critical sections come before all
//! other tasks of their VCPU ([`crate::task::ReadyTasks::highest_raised`]: `pi_B + pi_i`), and with
//! vMPCP a VCPU with such a task comes before all other VCPUs of its PCPU
//! ([`crate::cpu::Event::EnterGcs`]: `pi_B^v + pi_j^v`); among themselves they keep their
//! priorities. With MPCP the scheduler of VCPUs is not told, so that VCPUs keep their priorities.
//!
//! A VCPU is identified by its *rank* among all VCPUs of the system, and a task by its number in
//! its VCPU: 0 is the highest priority of both.

pub mod hold;
pub mod mutex;
pub mod pcp;
pub mod queue;
pub mod table;

use core::{error, fmt};

use crate::task::TASKS_MAX;

/// Maximum number of VCPUs that share resources.
pub const VCPUS_MAX: usize = 64;
/// Maximum number of resources.
pub const RESOURCES_MAX: usize = 16;

/// A task: the rank of its VCPU, and its number there.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Who {
    /// Rank of the VCPU: less than [`VCPUS_MAX`].
    vcpu: u8,
    /// Number of the task: less than [`TASKS_MAX`].
    task: u8,
}

impl Who {
    /// Returns the task of this number in the VCPU of this rank, if both are possible.
    #[inline]
    pub fn new(vcpu: usize, task: usize) -> Option<Self> {
        let possible = vcpu < VCPUS_MAX && task < TASKS_MAX;
        possible.then_some(Self { vcpu: vcpu as u8, task: task as u8 })
    }

    /// Rank of the VCPU.
    #[inline]
    pub fn vcpu(self) -> usize {
        self.vcpu.into()
    }

    /// Returns the number of the task.
    #[inline]
    pub fn task(self) -> usize {
        self.task.into()
    }

    #[inline]
    fn task_bit(self) -> u64 {
        1 << (self.task % 64)
    }
}

/// The reason why a call was refused and changed nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockError {
    /// There is no such resource, or the VM has no right to it or has not opened it.
    NotOpen,
    /// The task holds this resource already.
    AlreadyHeld,
    /// The task waits for a resource already.
    Waits,
    /// The task holds another resource: sections are not nested.
    Nested,
    /// The task does not hold the resource.
    NotOwner,
    /// Another task holds the resource, or a task of the VM holds it or waits for it.
    Busy,
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotOpen => "the resource is not open",
            Self::AlreadyHeld => "the task holds the resource already",
            Self::Waits => "the task waits for a resource already",
            Self::Nested => "the task holds another resource",
            Self::NotOwner => "the task does not hold the resource",
            Self::Busy => "the resource is in use",
        })
    }
}

impl error::Error for LockError {}

impl From<LockError> for abi::hypercall::Error {
    fn from(error: LockError) -> Self {
        match error {
            LockError::NotOpen => Self::Denied,
            LockError::AlreadyHeld => Self::AlreadyHeld,
            LockError::Waits => Self::AlreadyWaits,
            LockError::Nested => Self::Nested,
            LockError::NotOwner => Self::NotOwner,
            LockError::Busy => Self::Busy,
        }
    }
}

/// Computes the ranks of VCPUs from their priorities. The VCPU with the larger priority comes
/// first, and of equal ones the one with the lower index. `ranks` is filled as far as it is long.
pub fn rank(priorities: &[u32], ranks: &mut [u8]) {
    for (index, (own, rank)) in priorities.iter().zip(ranks).enumerate() {
        let before = priorities.iter().enumerate();
        let before = before.filter(|&(other, it)| it > own || it == own && other < index);
        *rank = before.count().min(usize::from(u8::MAX)) as u8;
    }
}
