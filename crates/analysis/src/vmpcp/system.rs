//! Systems of tasks that share resources.

use super::flat::{self, FlatSection, FlatTask, FlatVcpu};
use crate::Duration;

/// A critical section.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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

/// The reason why there is no such system.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SystemError {
    /// The sections of a task are longer than the task.
    #[error("task {task} of VCPU {vcpu} executes for {wcet}, its critical sections for more")]
    SectionsTooLong {
        /// The VCPU.
        vcpu: usize,
        /// The task, by its place in the VCPU.
        task: usize,
        /// Its execution time.
        wcet: Duration,
    },
    /// A section without length.
    #[error("task {task} of VCPU {vcpu} has a critical section of length 0")]
    NoLength {
        /// The VCPU.
        vcpu: usize,
        /// The task, by its place in the VCPU.
        task: usize,
    },
    /// VCPUs of a PCPU are not in the order of their priorities, or two have the same.
    #[error("the priority of VCPU {vcpu} is not below that of the one before it on its PCPU")]
    Order {
        /// The second one.
        vcpu: usize,
    },
}

impl System {
    /// Makes a system of PCPUs, each with its VCPUs, the one with the highest priority first.
    ///
    /// # Errors
    ///
    /// See [`SystemError`].
    pub fn new(pcpus: &[Vec<Vcpu>]) -> Result<Self, SystemError> {
        check(pcpus)?;
        Ok(flat::flatten(pcpus))
    }

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
}

fn check(pcpus: &[Vec<Vcpu>]) -> Result<(), SystemError> {
    let mut vcpu = 0;
    for pcpu in pcpus {
        let mut above = None;
        for it in pcpu {
            if above.is_some_and(|above| above <= it.priority) {
                return Err(SystemError::Order { vcpu });
            }
            above = Some(it.priority);
            for (task, it) in it.tasks.iter().enumerate() {
                let wcet = it.task.wcet();
                let mut rest = wcet.0;
                for section in &it.sections {
                    if section.length.0 == 0 {
                        return Err(SystemError::NoLength { vcpu, task });
                    }
                    rest = rest
                        .checked_sub(section.length.0)
                        .ok_or(SystemError::SectionsTooLong { vcpu, task, wcet })?;
                }
            }
            vcpu += 1;
        }
    }
    Ok(())
}
