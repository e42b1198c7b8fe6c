//! What a simulation found about memory accesses.

use model::Model;
use report::text::table;
use serde::Serialize;
use units::Duration;

use super::{VcpuResult, micros, percent, ppm};

/// The memory accesses of a VCPU.
#[derive(Serialize)]
pub struct MemoryResult {
    /// Accesses in each period, if they are limited.
    budget: Option<u64>,
    period_ns: Option<u64>,
    /// Whether it is the budget of its VM.
    shared: bool,
    accesses: u64,
    /// For how long it would have run, but waited for accesses.
    throttled_ns: u64,
    /// The same as a part of the simulated time, in millionths.
    throttled_ppm: u64,
    /// For how long its accesses waited for those of other PCPUs.
    delayed_ns: u64,
}

impl MemoryResult {
    /// Of a VCPU of the model.
    pub fn new(model: &Model, vcpu: &sim::Vcpu, found: sim::VcpuStatistics, now: u64) -> Self {
        let budget = model.memory_budget(vcpu);
        Self {
            budget: budget.map(|it| it.budget),
            period_ns: budget.map(|it| it.period.0),
            shared: matches!(vcpu.memory, sim::MemoryBudget::Shared(_)),
            accesses: found.accesses,
            throttled_ns: found.throttled_ns,
            throttled_ppm: ppm(found.throttled_ns, now.into()),
            delayed_ns: found.delayed_ns,
        }
    }
}

/// For people.
pub fn memory_table(vcpus: &[VcpuResult]) -> String {
    let row = |vcpu: &VcpuResult| {
        let memory = vcpu.memory.as_ref()?;
        let of = match memory.budget {
            None => "-",
            Some(_) if memory.shared => "VM",
            Some(_) => "VCPU",
        };
        Some(vec![
            vcpu.pcpu.to_string(),
            vcpu.vm.clone(),
            vcpu.vcpu.to_string(),
            of.into(),
            memory.budget.map_or("-".into(), |budget| budget.to_string()),
            memory.period_ns.map_or("-".into(), |ns| Duration(ns).to_string()),
            memory.accesses.to_string(),
            percent(memory.throttled_ppm),
            micros(Some(memory.delayed_ns)),
        ])
    };
    let rows: Vec<_> = vcpus.iter().filter_map(row).collect();
    let heading = [
        ">PCPU",
        "VM",
        ">VCPU",
        "budget of",
        ">accesses",
        ">period",
        ">made",
        ">% throttled",
        ">delayed us",
    ];
    table(&heading, &rows)
}
