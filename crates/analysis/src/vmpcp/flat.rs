//! The analysed form of a system: everything that does not depend on servers.

use std::ops::Range;

use super::guest::Guest;
use super::protocol::Variant;
use crate::divisor::Divisor;

/// A VCPU.
#[derive(Clone, Debug)]
pub struct FlatVcpu {
    /// The VCPUs of its PCPU, the highest priority first.
    pub pcpu: Range<usize>,
    pub priority: u32,
    pub tasks: Range<usize>,
    /// Eq. 1.
    pub holding: u64,
    /// The longest time for which the VCPU is in sections until it executes outside, whatever its guest does: Eq. 1,
    /// or the limit of the hypervisor.
    pub held: u64,
    /// The other limits of the hypervisor for its guest, if the guest is not trusted.
    pub guest: Option<Guest>,
}

/// A task.
#[derive(Clone, Debug)]
pub struct FlatTask {
    pub wcet: u64,
    pub period: Divisor,
    pub deadline: u64,
    pub jitter: u64,
    pub vcpu: usize,
    /// Its global sections.
    pub sections: Range<usize>,
    /// The longest of them; 0: it has none.
    pub longest: u64,
    /// Sum of the global sections: `E_i`.
    pub global: u64,
    /// Sum of its local sections that can block tasks above.
    pub local: u64,
    /// Eq. 9, as published and as corrected.
    pub blocking: [u64; 2],
    /// Other suspensions and blocking ([`crate::Task`]).
    pub suspension: u64,
    pub other_blocking: u64,
}

/// A global section.
#[derive(Clone, Debug)]
pub struct FlatSection {
    pub task: usize,
    pub resource: usize,
    pub length: u64,
    /// True if the hypervisor keeps the mutex.
    pub inter_vm: bool,
    /// Eq. 12.
    pub load: u64,
    /// Eq. 13.
    pub preemption: u64,
    /// Sections with the same resource of VCPUs below, in [`super::System::rivals`].
    pub below: Range<usize>,
    /// Sections with the same resource of VCPUs above.
    pub above: Range<usize>,
    /// Others that can be ahead as well: those of tasks above in the same VCPU, and of VCPUs with
    /// the same priority that count as below. They follow those above.
    pub also: Range<usize>,
}

impl FlatTask {
    /// Returns the longest window at the end of which the last of `jobs` jobs is not late.
    pub fn on_time(&self, jobs: u64) -> u64 {
        let deadline = (jobs - 1).saturating_mul(self.period.get()).saturating_add(self.deadline);
        deadline.saturating_sub(self.jitter)
    }

    /// Returns the longest window with at most `jobs` jobs.
    pub fn free(&self, jobs: u64) -> u64 {
        jobs.saturating_mul(self.period.get()).saturating_sub(self.jitter)
    }

    /// Returns true if the task waits for anything other than the processor.
    pub fn suspends(&self) -> bool {
        self.suspension > 0 || self.longest > 0
    }

    pub fn blocking(&self, variant: Variant) -> u64 {
        self.blocking[variant as usize]
    }
}
