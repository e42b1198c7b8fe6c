//! A VCPU while it is simulated: its tasks, and which of them runs.

use policy::lock::pcp::Pcp;
use policy::task::{ReadyTasks, TASKS_MAX};

use crate::job::Jobs;
use crate::statistics::VcpuStatistics;
use crate::{Error, MemoryBudget, Vcpu};

#[derive(Clone, Debug)]
pub struct VcpuState {
    pub tasks: Vec<Jobs>,
    pub ready: ReadyTasks,
    pub statistics: VcpuStatistics,
    /// The memory budget that it shares.
    pub pool: Option<usize>,
    pub critical: bool,
    /// Time that the hypervisor takes before tasks of the VCPU continue.
    pub owed: u64,
    /// Whether its tasks have critical sections; those in global ones; the local resources.
    pub locks: bool,
    pub raised: ReadyTasks,
    pub pcp: Pcp,
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
        let (ready, statistics) = (ReadyTasks::default(), VcpuStatistics::default());
        Ok(Self {
            tasks,
            ready,
            statistics,
            pool,
            critical: vcpu.critical,
            owed: 0,
            locks: false,
            raised: ReadyTasks::default(),
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
        match self.locks {
            false => self.ready.highest(),
            true => self.pcp.runs(self.ready, self.raised),
        }
    }
}
