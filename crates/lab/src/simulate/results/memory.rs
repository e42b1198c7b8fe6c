//! Memory accesses of VCPUs.

use model::Model;
use serde::Serialize;

use crate::amount::ppm;

/// The memory accesses of a VCPU.
#[derive(Clone, Debug, Serialize)]
pub struct Memory {
    /// Accesses in each period, if they are limited.
    pub budget: Option<u64>,
    /// The period of the limit.
    pub period_ns: Option<u64>,
    /// True if it is the budget of its VM.
    pub shared: bool,
    /// Accesses that it made.
    pub accesses: u64,
    /// The time for which it would have run, but waited for accesses.
    pub throttled_ns: u64,
    /// The same as a part of the simulated time, in millionths.
    pub throttled_ppm: u64,
    /// The time for which its accesses waited for those of other PCPUs.
    pub delayed_ns: u64,
}

impl Memory {
    /// Returns the results of a VCPU of the model, after the time `now_ns`.
    pub(super) fn new(
        model: &Model,
        vcpu: &sim::Vcpu,
        found: sim::VcpuStatistics,
        now_ns: u64,
    ) -> Self {
        let budget = model.memory_budget(vcpu);
        Self {
            budget: budget.map(|it| it.budget),
            period_ns: budget.map(|it| it.period.0),
            shared: matches!(vcpu.memory, sim::MemoryBudget::Shared(_)),
            accesses: found.accesses,
            throttled_ns: found.throttled_ns,
            throttled_ppm: ppm(found.throttled_ns, now_ns.into()),
            delayed_ns: found.delayed_ns,
        }
    }
}
