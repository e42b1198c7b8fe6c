//! A VCPU while it is simulated: its tasks, and which of them runs.

use policy::lock::pcp::Pcp;

use crate::job::Jobs;
use crate::statistics::VcpuStatistics;
use crate::tasks::{TASKS_MAX, TaskSet};
use crate::{Error, MemoryBudget, RESOURCES_MAX, Vcpu};

#[derive(Clone, Debug)]
pub struct VcpuState {
    pub tasks: Vec<Jobs>,
    pub ready: TaskSet,
    pub statistics: VcpuStatistics,
    /// The memory budget that it shares.
    pub pool: Option<usize>,
    pub critical: bool,
    /// Number of interrupts that are still to come while it waits.
    pub kicks: u64,
    /// Time that the hypervisor takes before tasks of the VCPU continue.
    pub owed: u64,
    /// The tasks that have critical sections; their places are their numbers in locks.
    pub users: Vec<usize>,
    /// Tasks in global critical sections.
    pub raised: TaskSet,
    /// The local resources.
    pub pcp: Pcp<RESOURCES_MAX>,
}

impl VcpuState {
    /// `stream` counts the tasks of all VCPUs.
    pub fn new(vcpu: &Vcpu, seed: u64, stream: &mut u64) -> Result<Self, Error> {
        if vcpu.tasks.len() > TASKS_MAX {
            let tasks = vcpu.tasks.len();
            return Err(Error::TooManyTasks { vcpu: vcpu.name.clone(), tasks });
        }
        let mut tasks = Vec::new();
        for task in &vcpu.tasks {
            tasks.push(Jobs::new(task, seed, *stream)?);
            *stream += 1;
        }
        let pool = match vcpu.memory {
            MemoryBudget::Shared(pool) => Some(pool),
            MemoryBudget::None | MemoryBudget::Own(_) => None,
        };
        let (ready, statistics) = (TaskSet::default(), VcpuStatistics::default());
        Ok(Self {
            tasks,
            ready,
            statistics,
            pool,
            critical: vcpu.critical,
            kicks: 0,
            owed: 0,
            users: Vec::new(),
            raised: TaskSet::default(),
            pcp: Pcp::default(),
        })
    }

    /// Returns the task that runs when the VCPU does, and how long its job still needs.
    #[inline]
    pub fn running(&mut self) -> Option<(usize, &mut Jobs)> {
        let task = self.running_task()?;
        Some((task, self.tasks.get_mut(task)?))
    }

    /// Returns the task that runs when the VCPU does.
    #[inline]
    pub fn running_task(&self) -> Option<usize> {
        if self.users.is_empty() {
            return self.ready.highest();
        }
        let task = self.ready.highest_raised(&self.raised)?;
        match self.tasks[task].sections.number() {
            Some(number) if !self.raised.contains(task) => {
                self.users.get(self.pcp.in_place_of(number)).copied()
            }
            _ => Some(task),
        }
    }
}
