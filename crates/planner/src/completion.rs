//! Decides what a description leaves open: budgets, the VCPUs of tasks, colours, PCPUs.
//!
//! - A VCPU with a `server` and a `period`, but no `budget`, gets the least budget with which
//!   its tasks meet their deadlines; a hundredth of the period if it has none.
//! - Tasks without `vcpu` go to VCPUs such that all VCPUs together need little.
//! - VMs with `colors = "planned"` get colours that no one else has. With `vllc` the tasks of
//!   such a VM get colours of their own; otherwise all have all that the VM has. VMs without
//!   tasks share what is left.
//! - VCPUs with a server, but no `pcpu`, go to PCPUs where all get their budgets.
//!
//! What is given is kept. VMs of which nothing is open are not looked at: whether their tasks
//! meet their deadlines says the analysis, as for all others in the end.

pub mod advice;
mod colors;
mod explain;
mod pcpus;
mod problem;

use bulkhead_system::description::{Located, System, Vcpu};
use bulkhead_system::diagnostic::Errors;
use bulkhead_system::plan::{Budget, Class};

use crate::Setting;
use crate::search::Planner;
use problem::{Problem, Subject};

/// Decides everything that is open. Nothing changes if nothing is.
///
/// # Errors
///
/// What makes that impossible, with the smallest change that was found to help.
pub fn complete(system: &mut System) -> Result<(), Errors> {
    if !system.is_open() {
        return Ok(());
    }
    let problem = Problem::new(system)?;
    let vms: Vec<_> = problem.subjects.iter().map(|subject| subject.vm.clone()).collect();
    let free = problem.free.len() as usize;
    let Some(plan) = Planner::new(&vms, &problem.setting).plan(free) else {
        return Err(explain::failure(system, &problem).into());
    };
    let mut left = problem.free;
    let (_, spare) = problem::grain(system);
    let open = |subject: &&Subject| system.vms[subject.index].colors_open.is_some();
    let colored: Vec<usize> =
        problem.subjects.iter().filter(open).map(|subject| subject.index).collect();
    for (subject, planned) in problem.subjects.iter().zip(plan.vms) {
        colors::give(system, subject, &planned, &mut left);
        for (vcpu, planned) in subject.slots.iter().zip(&planned.vcpus) {
            for task in planned.iter().flat_map(|planned| &planned.tasks) {
                let task = &mut system.vms[subject.index].tasks[subject.tasks[*task]];
                (task.vcpu, task.vcpu_open) = (*vcpu, false);
            }
            let budget = planned
                .as_ref()
                .map(|planned| analysis::Duration(planned.point.budget.0.saturating_add(spare.0)));
            set_budget(&mut system.vms[subject.index].vcpus[*vcpu], budget);
        }
    }
    colors::share_rest(system, &colored, left);
    pcpus::place(system)
}

/// Gives an open server its budget; a hundredth of its period if it has no tasks.
fn set_budget(vcpu: &mut Vcpu, budget: Option<analysis::Duration>) {
    let Some(server) = vcpu.server.as_mut().filter(|server| server.open) else { return };
    let Some(Budget { period, .. }) = server.class.value.budget() else { return };
    let least = analysis::Duration(period.0 / 100).max(Budget::SHORTEST).min(period);
    let budget = budget.unwrap_or(least).max(Budget::SHORTEST).min(period);
    let budget = Budget { budget, period };
    let class = match server.class.value {
        Class::Periodic(_) => Class::Periodic(budget),
        Class::Deferrable(_) => Class::Deferrable(budget),
        Class::Sporadic(_) => Class::Sporadic(budget),
        Class::Background => Class::Background,
    };
    server.class = Located::new(class, &server.class.place);
    server.open = false;
}

/// A setting for so many colours.
fn setting(problem: &Setting, colors: usize) -> Setting {
    problem.with_colors(colors.max(1)).unwrap_or(*problem)
}
