//! Results of VCPUs in a simulation.

use model::Model;
use serde::Serialize;
use sim::Simulation;

use super::memory::Memory;
use crate::amount::ppm;

/// A VCPU in a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Vcpu {
    /// The PCPU on which it ran.
    pub pcpu: usize,
    /// The name of its VM.
    pub vm: String,
    /// Its number in the VM.
    pub vcpu: usize,
    /// The kind of its server; none has its PCPU for itself.
    pub server: Option<&'static str>,
    /// The budget of the server, if it has one.
    pub budget_ns: Option<u64>,
    /// The period of the server.
    pub period_ns: Option<u64>,
    /// The priority of the server; a larger number is a higher priority.
    pub priority: Option<u32>,
    /// Its load: `tasks`, `tasks and more`, `busy` or `idle`.
    pub load: &'static str,
    /// The time for which it ran.
    pub supply_ns: u64,
    /// Part of the simulated time for which it ran, in millionths.
    pub supply_ppm: u64,
    /// Part of its budget that it used, in millionths.
    pub budget_used_ppm: Option<u64>,
    /// Number of times that it began to run.
    pub dispatches: u64,
    /// Memory accesses, if they are simulated.
    pub memory: Option<Memory>,
}

/// The VCPUs of a model, PCPU by PCPU.
pub fn vcpus(model: &Model, simulation: &Simulation) -> Vec<Vcpu> {
    let now = simulation.now_ns();
    let row = |(pcpu, index, vcpu): (usize, usize, &model::Vcpu)| {
        let found = simulation.vcpu(pcpu, index);
        let budget = vcpu.server.and_then(|server| server.class.budget());
        let given =
            budget.map(|it| u128::from(it.budget.0) * u128::from(now) / u128::from(it.period.0));
        let simulated = &model.system.pcpus[pcpu].vcpus[index];
        Vcpu {
            pcpu,
            vm: vcpu.vm_name.clone(),
            vcpu: vcpu.index,
            server: vcpu.server.map(|server| server.class.as_str()),
            budget_ns: budget.map(|it| it.budget.0),
            period_ns: budget.map(|it| it.period.0),
            priority: vcpu.server.map(|server| server.priority),
            load: vcpu.load.as_str(),
            supply_ns: found.supply_ns,
            supply_ppm: ppm(found.supply_ns, now.into()),
            budget_used_ppm: given.map(|given| ppm(found.supply_ns, given)),
            dispatches: found.dispatches,
            memory: model.accesses.map(|_| Memory::new(model, simulated, found, now)),
        }
    };
    model.vcpus().map(row).collect()
}
