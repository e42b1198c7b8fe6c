//! Budgets of memory accesses.

use report::text::table;
use system::plan::{Compensation, MemoryBudget, Plan};

/// Returns the limits of VMs and VCPUs on memory accesses, and those whose accesses count for credits, if some limit is set.
pub(super) fn budgets(plan: &Plan) -> String {
    let Some(counter) = &plan.platform.bandwidth_counter else { return String::new() };
    let row = |vm: &str, vcpu: String, budget: MemoryBudget, credits: Option<Compensation>| {
        vec![
            vm.to_owned(),
            vcpu,
            budget.accesses.to_string(),
            budget.period.to_string(),
            counter.access.map_or("-".into(), |access| budget.rate(access).to_string()),
            credits.map_or("-".into(), |it| format!("for {} periods", it.periods)),
        ]
    };
    let mut rows = Vec::new();
    for vm in &plan.vms {
        let all =
            vm.memory_budget.map(|budget| row(&vm.name, "all".into(), budget, vm.compensation));
        rows.extend(all);
        for (index, vcpu) in vm.vcpus.iter().enumerate() {
            let own = vcpu.memory_budget;
            rows.extend(own.map(|budget| row(&vm.name, index.to_string(), budget, None)));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let what = if counter.access.is_some() { ">accesses" } else { ">counts" };
    let heading = ["VM", ">VCPU", what, ">in each", ">rate", "credits"];
    let critical: Vec<String> =
        plan.vms.iter().filter(|vm| vm.critical).map(|vm| format!("`{}`", vm.name)).collect();
    let critical = match critical.is_empty() {
        true => String::new(),
        false => format!("critical: {}\n", critical.join(", ")),
    };
    format!("\n{}{critical}", table(&heading, &rows))
}
