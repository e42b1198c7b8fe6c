//! The machine and the VMs of a plan.

use planner::completion::reasons;
use report::proof::{Decision, Platform, Vcpu, Vm};
use system::description::Protocol;
use system::report::indices;

use crate::cachescope::Counts;
use crate::load::System;

/// Returns the machine; `counts` know its last-level cache.
pub fn platform(system: &System, counts: Option<&Counts>) -> Platform {
    let plan = &system.plan.platform;
    let area = plan.hypervisor_area.map(|area| indices(area.colors));
    Platform {
        name: plan.board.clone(),
        pcpus: plan.cpus.len(),
        llc_bytes: counts.map(|it| it.llc_bytes),
        llc_ways: counts.map(|it| it.llc_ways),
        colors: plan.llc.map(|llc| llc.geometry.all().iter().count()),
        hypervisor_colors: area.unwrap_or_default(),
    }
}

/// Returns the VMs, as planned.
pub fn vms(system: &System) -> Vec<Vm> {
    let described = system.description.iter().flat_map(|it| &it.vms);
    let protocols = described.map(|vm| vm.boot.protocol);
    let vms = system.plan.vms.iter().zip(protocols).map(|(vm, protocol)| Vm {
        name: vm.name.clone(),
        guest: match protocol {
            Protocol::Linux => "Linux".into(),
            Protocol::Raw => "bare-metal guest".into(),
        },
        critical: vm.critical,
        memory_bytes: vm.memory_size().get(),
        colors: vm.colors().map(indices).unwrap_or_default(),
        memory_budget_accesses: vm.memory_budget.map(|it| it.accesses),
        memory_period_ns: vm.memory_budget.map(|it| it.period.0),
        vcpus: vm.vcpus.iter().map(vcpu).collect(),
    });
    vms.collect()
}

fn vcpu(vcpu: &system::plan::Vcpu) -> Vcpu {
    let budget = vcpu.server.and_then(|server| server.class.budget());
    Vcpu {
        pcpu: vcpu.pcpu.0 as usize,
        server: vcpu.server.map(|server| server.class.as_str().into()),
        priority: vcpu.server.map(|server| server.priority),
        budget_ns: budget.map(|it| it.budget.0),
        period_ns: budget.map(|it| it.period.0),
        memory_budget_accesses: vcpu.memory_budget.map(|it| it.accesses),
        memory_period_ns: vcpu.memory_budget.map(|it| it.period.0),
    }
}

/// Most tasks of a system whose decisions are explained: each takes many judgements.
const EXPLAINED_MAX: usize = 100;

/// Returns the decisions of the planner, and their reasons.
pub fn decisions(system: &System) -> Vec<Decision> {
    let (Some(open), Some(planned)) = (&system.open, &system.description) else {
        return Vec::new();
    };
    if planned.vms.iter().map(|vm| vm.tasks.len()).sum::<usize>() > EXPLAINED_MAX {
        return Vec::new();
    }
    let decision = |reason: planner::completion::Reason| Decision {
        name: reason.decision,
        value: reason.value,
        trials: reason.trials.iter().map(ToString::to_string).collect(),
    };
    reasons(open, planned).into_iter().map(decision).collect()
}
