//! Systems of tasks that share resources.

use std::cmp::Reverse;

use super::flat::{FlatSection, FlatTask, FlatVcpu};
use super::protocol::Variant;
use crate::Duration;
use crate::window::sum;

/// A critical section.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Section {
    /// Number of the resource; small numbers are best.
    pub resource: usize,
    /// Its longest execution time: `E_{i,j}`.
    pub length: Duration,
    /// True if the hypervisor keeps the mutex: the resource is then global even if tasks of only
    /// one VCPU use it.
    pub inter_vm: bool,
}

/// A task and its critical sections.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Task {
    /// The task. Its execution time includes that of the sections. Its suspension and blocking do
    /// not include those by these sections.
    pub task: crate::Task,
    /// The sections of a job.
    pub sections: Vec<Section>,
}

/// A VCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Vcpu {
    /// Its priority: the larger number comes first, in queues of all PCPUs.
    pub priority: u32,
    /// Its tasks, the one with the highest priority first.
    pub tasks: Vec<Task>,
}

/// VCPUs on PCPUs whose tasks share resources, prepared for analyses with different servers.
///
/// VCPUs are numbered PCPU by PCPU, and tasks VCPU by VCPU.
#[derive(Clone, Debug)]
pub struct System {
    pub(super) vcpus: Vec<FlatVcpu>,
    pub(super) tasks: Vec<FlatTask>,
    /// Global sections only.
    pub(super) sections: Vec<FlatSection>,
    /// Numbers of sections, to which ranges of [`FlatSection`] refer.
    pub(super) rivals: Vec<u32>,
}

impl System {
    /// Returns the number of VCPUs.
    pub fn vcpus(&self) -> usize {
        self.vcpus.len()
    }

    /// Returns the numbers of the tasks of a VCPU, the one with the highest priority first.
    pub fn tasks_of(&self, vcpu: usize) -> std::ops::Range<usize> {
        self.vcpus.get(vcpu).map_or(0..0, |vcpu| vcpu.tasks.clone())
    }

    /// Global resource holding time `ght` of a VCPU (vMPCP, Eq. 1): the longest global section of
    /// each of its tasks. The VCPU overruns its budget by at most this time.
    pub fn holding_time(&self, vcpu: usize) -> Duration {
        Duration(self.vcpus.get(vcpu).map_or(0, |vcpu| vcpu.holding))
    }

    /// Returns true if a VCPU uses resources that other VCPUs use, too.
    pub fn is_global(&self, vcpu: usize) -> bool {
        self.vcpus.get(vcpu).is_some_and(|vcpu| vcpu.holding > 0)
    }

    /// Returns the time for which VCPUs above on the same PCPU can be in sections (Eq. 13).
    pub(super) fn held_above(&self, vcpu: usize) -> u64 {
        sum(self.vcpus[self.vcpus[vcpu].pcpu.start..vcpu].iter().map(|it| it.held))
    }

    /// Returns the rank of a VCPU in queues. The larger rank comes first, and of equal priorities
    /// the first VCPU.
    pub(super) fn rank(&self, vcpu: usize) -> (u32, Reverse<usize>) {
        (self.vcpus[vcpu].priority, Reverse(vcpu))
    }

    /// Returns the sections that can be ahead of this one in the queue, repeatedly.
    pub(super) fn ahead(
        &self,
        section: &FlatSection,
        variant: Variant,
    ) -> impl Iterator<Item = u32> {
        let end = match variant {
            Variant::Published => section.above.end,
            // Both ranges are contiguous.
            Variant::Sound => section.also.end,
        };
        self.rivals[section.above.start..end].iter().copied()
    }
}
