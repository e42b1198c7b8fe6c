//! Systems as descriptions: for the planner of this project, and for the judge of all plans.

use std::fmt::Write as _;
use std::path::Path;

use planner::completion::{Objective, Options, complete_with};
use sweep::Error;
use system::description::System;
use system::plan;
use verdict::Verdict;

use super::drawn::{BOARD, Drawn};
use super::plan::{Plan, Vcpu};

/// Returns the plan of the planner of this project.
pub fn planned(drawn: &Drawn) -> Result<Option<Plan>, Error> {
    let mut system = read(&described(drawn, None))?;
    // As the other methods.
    let options = Options { objective: Objective::LeastTime, ..Options::default() };
    if complete_with(&mut system, &options).is_err() {
        return Ok(None);
    }
    let mut vcpus = Vec::new();
    for (vm, described) in system.vms.iter().enumerate() {
        for (index, vcpu) in described.vcpus.iter().enumerate() {
            let budget = vcpu.server.as_ref().and_then(|server| server.class.value.budget());
            let (Some(budget), Some(pcpu)) = (budget, &vcpu.pcpu) else { continue };
            let tasks = described.tasks.iter().enumerate();
            let own = tasks.filter(|(_, task)| task.vcpu == index).map(|(task, _)| task);
            let (budget_ns, pcpu) = (budget.budget.0, pcpu.value as usize);
            vcpus.push(Vcpu { vm, tasks: own.collect(), budget_ns, pcpu });
        }
    }
    Ok(Some(Plan { vcpus }))
}

/// Returns true if a plan has each task once, and `bulkhead check` says that all deadlines are met.
pub fn holds(drawn: &Drawn, plan: &Plan) -> bool {
    if !has_each_task_once(drawn, plan) {
        return false;
    }
    let Ok(system) = read(&described(drawn, Some(plan))) else { return false };
    plan::make(&system).is_ok_and(|made| Verdict::of_plan(&made, Some(&system)).schedulable)
}

/// Returns true if each task is on one VCPU. A task that is left out would be described on a VCPU that the plan does not have.
fn has_each_task_once(drawn: &Drawn, plan: &Plan) -> bool {
    drawn.vms.iter().enumerate().all(|(vm, tasks)| {
        let own = plan.vcpus.iter().filter(|vcpu| vcpu.vm == vm).flat_map(|vcpu| &vcpu.tasks);
        let mut own: Vec<usize> = own.copied().collect();
        own.sort_unstable();
        own.into_iter().eq(0..tasks.len())
    })
}

fn read(text: &str) -> Result<System, Error> {
    System::from_toml("system.toml", text, Path::new(""))
        .map_err(|errors| Error::Parameters(errors.to_string()))
}

/// Returns the description, with everything decided or open.
fn described(drawn: &Drawn, plan: Option<&Plan>) -> String {
    let mut text = format!("platform = \"{BOARD}\"\n");
    for (vm, tasks) in drawn.vms.iter().enumerate() {
        let planned: Option<Vec<&Vcpu>> =
            plan.map(|plan| plan.vcpus.iter().filter(|vcpu| vcpu.vm == vm).collect());
        let _ = writeln!(
            text,
            "[[vm]]\nname = \"v{vm}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\""
        );
        let count = planned.as_ref().map_or(drawn.vcpus, Vec::len);
        for vcpu in 0..count {
            let period = drawn.period.0;
            let _ = writeln!(text, "[[vm.vcpu]]\nserver = \"periodic\"\nperiod = \"{period}ns\"");
            if let Some(vcpu) = planned.as_ref().and_then(|planned| planned.get(vcpu)) {
                let Vcpu { budget_ns, pcpu, .. } = vcpu;
                let _ = writeln!(text, "budget = \"{budget_ns}ns\"\npcpu = {pcpu}");
            }
        }
        for (index, task) in tasks.iter().enumerate() {
            let (period, wcet) = (task.period().0, task.wcet(1).0);
            let _ = writeln!(
                text,
                "[[vm.task]]\nname = \"t{index}\"\nperiod = \"{period}ns\"\nwcet = \"{wcet}ns\""
            );
            let has = |vcpu: &&Vcpu| vcpu.tasks.contains(&index);
            if let Some(vcpu) = planned.as_ref().and_then(|planned| planned.iter().position(has)) {
                let _ = writeln!(text, "vcpu = {vcpu}");
            }
        }
    }
    text
}
