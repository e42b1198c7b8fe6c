//! The memory accesses of a simulated system.

use policy::bandwidth::Parameters;
use policy::time::Instant;
use system::description;
use system::plan::{MemoryBudget, Plan, Vcpu, Vm};
use units::Duration;

use crate::assumptions::{Assumptions, Contention};

/// The accesses of a system.
#[derive(Clone, Copy, Debug)]
pub struct Accesses {
    /// The accesses of busy VCPUs, and how accesses delay each other.
    pub contention: Contention,
    /// Time for which an access keeps the memory busy, if it is known.
    pub latency: Option<Duration>,
    /// True if budgets are numbers of memory accesses, so that they are simulated.
    pub budgets: bool,
}

impl Accesses {
    /// Returns `None` if nothing is known of accesses, and they are not limited.
    pub fn new(
        plan: &Plan,
        described: Option<&description::System>,
        assumptions: &Assumptions,
    ) -> Option<Self> {
        let described_accesses = |system: &description::System| {
            system.vms.iter().flat_map(|vm| &vm.tasks).any(|task| task.accesses.is_some())
        };
        let has_budget = |vm: &Vm| {
            vm.memory_budget.is_some() || vm.vcpus.iter().any(|vcpu| vcpu.memory_budget.is_some())
        };
        if !described.is_some_and(described_accesses) && !plan.vms.iter().any(has_budget) {
            return None;
        }
        let counter = plan.platform.bandwidth_counter.as_ref();
        let platform = described.and_then(|system| system.platform.value.bandwidth.as_ref());
        Some(Self {
            contention: assumptions.contention,
            latency: platform.and_then(|bandwidth| bandwidth.latency),
            budgets: counter.is_none_or(|counter| counter.source.counts_memory()),
        })
    }

    /// Returns the simulator's parameters of the memory, with the budgets of VMs in the order of
    /// the VMs.
    pub fn shared(&self, plan: &Plan) -> sim::Memory {
        let pool = |vm: &Vm| {
            let compensation = vm.compensation.map(|it| sim::Compensation {
                periods: it.periods,
                flush_task_switch: it.flush_task_switch,
            });
            let parameters = parameters(vm.memory_budget.filter(|_| self.budgets)?);
            Some(sim::Pool { name: format!("VM {}", vm.name), parameters, compensation })
        };
        let latency = self.latency.filter(|_| self.contention != Contention::None);
        sim::Memory {
            pools: plan.vms.iter().filter_map(pool).collect(),
            contention: latency
                .map(|latency| sim::Contention { latency: latency.0, always_longest: true }),
        }
    }

    /// Returns the memory budget of a VCPU of the VM with this index.
    pub fn budget(&self, plan: &Plan, vm: usize, vcpu: &Vcpu) -> sim::MemoryBudget {
        let pools = plan.vms.iter().take(vm).filter(|vm| vm.memory_budget.is_some()).count();
        match (vcpu.memory_budget, plan.vms[vm].memory_budget) {
            _ if !self.budgets => sim::MemoryBudget::None,
            (Some(own), _) => sim::MemoryBudget::Own(parameters(own)),
            (None, Some(_)) => sim::MemoryBudget::Shared(pools),
            (None, None) => sim::MemoryBudget::None,
        }
    }

    /// Returns the accesses of a job that never ends.
    pub fn endless(&self) -> sim::Accesses {
        match (self.latency, self.contention) {
            (None, _) => sim::Accesses::None,
            (Some(_), Contention::Worst) => sim::Accesses::WithOthers,
            (Some(latency), _) => sim::Accesses::Every(latency.0.max(1)),
        }
    }

    /// Returns the accesses of the jobs of a task.
    pub fn of(task: &description::Task) -> sim::Accesses {
        match &task.accesses {
            Some(accesses) => sim::Accesses::PerJob(accesses.value),
            None => sim::Accesses::None,
        }
    }
}

fn parameters(budget: MemoryBudget) -> Parameters {
    let period = policy::time::Duration(budget.period.0);
    Parameters { budget: budget.accesses, period, start: Instant(0) }
}
