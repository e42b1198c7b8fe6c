//! Decides what a description leaves open: budgets and periods of VCPUs, the VCPUs of tasks,
//! colours, PCPUs.
//!
//! - A VCPU with a `server` and a `period`, but no `budget`, gets the least budget with which
//!   its tasks meet their deadlines; a hundredth of the period if it has none.
//! - One without `period`, too, gets a period with which its VM needs little.
//! - Tasks without `vcpu` go to VCPUs such that all VCPUs together need little.
//! - VMs with `colors = "planned"` get colours that no one else has. With `vllc` the tasks of
//!   such a VM get colours of their own; otherwise all have all that the VM has. VMs without
//!   tasks share what is left.
//! - VMs and VCPUs with `bandwidth = "planned"` get the largest limits of memory accesses with
//!   which all tasks are in time.
//! - VCPUs with a server, but no `pcpu`, go to PCPUs where all get their budgets, and all tasks
//!   that can be are in time.
//!
//! With a margin all of this is decided for longer execution times and more accesses.
//!
//! What is given is kept. VMs of which nothing is open are not looked at before that: whether
//! their tasks meet their deadlines says the analysis, as for all others in the end.

pub mod advice;
mod budgets;
mod change;
mod colors;
mod explain;
mod least;
mod margin;
mod memory;
mod overheads;
mod part;
mod pcpus;
mod periods;
mod problem;

use system::description::{Located, System, Vcpu};
use system::diagnostic::{Diagnostic, Errors};
use system::plan::{self, Budget, Class};
use verdict::Verdict;

use crate::Setting;
use crate::search::Planner;
use problem::{Problem, Subject};

/// Why a description was not completed.
#[derive(Debug)]
pub enum Refusal {
    /// The description asks for something that cannot be planned.
    Input(Errors),
    /// No plan was found; the messages say what is in the way, and the smallest change that was
    /// found to help.
    NoPlan(Errors),
}

/// The obstacle at which planning ended.
enum Obstacle {
    /// Planning did not begin, because of mistakes.
    Input(Errors),
    /// There are no budgets, VCPUs of tasks and colours with which all tasks are in time.
    Tasks,
    /// A task is late whatever the limits of memory accesses are.
    Memory(Box<System>),
    /// A task is late because of the overheads of VCPUs that share PCPUs.
    Overheads(Box<System>),
    /// VCPUs do not fit onto PCPUs: what they need, and how many PCPUs there are for them.
    Pcpus(Box<pcpus::Crowd>),
}

/// Decides everything that is open. Nothing changes if nothing is.
///
/// # Errors
///
/// Nothing is changed then.
pub fn complete(system: &mut System) -> Result<(), Refusal> {
    if !system.is_open() {
        return Ok(());
    }
    let grown = margin::with_margin(system);
    let planned = attempt(&grown).map_err(|obstacle| match obstacle {
        Obstacle::Input(errors) => Refusal::Input(errors),
        Obstacle::Tasks => Refusal::NoPlan(explain::tasks(&grown)),
        Obstacle::Memory(least) => Refusal::NoPlan(memory::explain(&grown, &least)),
        Obstacle::Overheads(best) => Refusal::NoPlan(overheads::explain(&best)),
        Obstacle::Pcpus(crowd) => Refusal::NoPlan(explain::pcpus(&grown, &crowd).into()),
    })?;
    *system = margin::without_margin(planned, system);
    Ok(())
}

/// Returns the system with everything decided.
fn attempt(system: &System) -> Result<System, Obstacle> {
    if !system.processor_open() {
        let mut system = system.clone();
        return memory::limit(&mut system, &[]).map(|()| system);
    }
    let chosen = periods::choose(system).map_err(Obstacle::Input)?;
    let first = match settle(&chosen) {
        Err(Obstacle::Pcpus(crowd)) => Obstacle::Pcpus(crowd),
        other => return other,
    };
    // VCPUs share PCPUs more easily if their periods are alike.
    match periods::alike(system, &chosen) {
        Some(alike) => settle(&alike).map_err(|_| first),
        None => Err(first),
    }
}

/// Returns the system, of which all periods are known, with everything decided.
fn settle(system: &System) -> Result<System, Obstacle> {
    let problem = Problem::new(system).map_err(Obstacle::Input)?;
    let planned: Vec<usize> = problem.subjects.iter().map(|subject| subject.index).collect();
    overheads::settle(system, &planned, |neighbours| settle_beside(system, &problem, neighbours))
}

/// The same, with budgets for VCPUs that have so many neighbours, wherever they come to be.
fn settle_beside(system: &System, problem: &Problem, neighbours: u64) -> Result<System, Obstacle> {
    let mut setting = problem.setting;
    setting.neighbours = neighbours;
    let vms: Vec<_> = problem.subjects.iter().map(|subject| subject.vm.clone()).collect();
    let free = problem.free.len() as usize;
    let plan = Planner::new(&vms, &setting).plan(free).ok_or(Obstacle::Tasks)?;
    let mut system = system.clone();
    let mut left = problem.free;
    let mut open_budgets = Vec::new();
    let (_, spare) = problem::grain(&system);
    let open = |subject: &&Subject| system.vms[subject.index].colors_open.is_some();
    let colored: Vec<usize> =
        problem.subjects.iter().filter(open).map(|subject| subject.index).collect();
    for (subject, planned) in problem.subjects.iter().zip(plan.vms) {
        colors::give(&mut system, subject, &planned, &mut left);
        for (vcpu, planned) in subject.slots.iter().zip(&planned.vcpus) {
            for task in planned.iter().flat_map(|planned| &planned.tasks) {
                let task = &mut system.vms[subject.index].tasks[subject.tasks[*task]];
                (task.vcpu, task.vcpu_open) = (*vcpu, false);
            }
            let budget = planned
                .as_ref()
                .map(|planned| analysis::Duration(planned.point.budget.0.saturating_add(spare.0)));
            let described = &mut system.vms[subject.index].vcpus[*vcpu];
            if planned.is_some() && described.server.as_ref().is_some_and(|server| server.open) {
                open_budgets.push((subject.index, *vcpu));
            }
            set_budget(described, budget);
        }
    }
    colors::share_rest(&mut system, &colored, left);
    let planned: Vec<usize> = problem.subjects.iter().map(|subject| subject.index).collect();
    pcpus::place(&mut system, &planned).map_err(Obstacle::Pcpus)?;
    if memory::matters(&system) {
        memory::limit(&mut system, &open_budgets)?;
    } else {
        if system.platform.value.overheads.is_some() {
            // Who shares a PCPU costs the others switches, which nobody knew of before.
            memory::stretch(&mut system, &open_budgets);
        }
        budgets::shrink(&mut system, &open_budgets);
    }
    Ok(system)
}

/// Gives an open server its budget; a hundredth of its period if it has no tasks.
fn set_budget(vcpu: &mut Vcpu, budget: Option<analysis::Duration>) {
    let Some(server) = vcpu.server.as_mut().filter(|server| server.open) else { return };
    let Some(Budget { period, .. }) = server.class.value.budget() else { return };
    let least = analysis::Duration(period.0 / 100).max(Budget::SHORTEST).min(period);
    let budget = budget.unwrap_or(least).max(Budget::SHORTEST).min(period);
    server.class = Located::new(
        server.class.value.with_budget(Budget { budget, period }),
        &server.class.place,
    );
    server.open = false;
}

/// Changes the server of a VCPU that has one.
fn set_class(system: &mut System, (vm, vcpu): (usize, usize), change: impl Fn(Class) -> Class) {
    if let Some(server) = system.vms[vm].vcpus[vcpu].server.as_mut() {
        server.class.value = change(server.class.value);
    }
}

/// Returns the verdict of the analysis on a description in which nothing is open; `None` if it has
/// no plan.
fn verdict(system: &System) -> Option<Verdict> {
    match system.platform.value.boot.is_ok() {
        true => Some(Verdict::of_plan(&plan::make(system).ok()?, Some(system))),
        false => Some(Verdict::of_description(system, &plan::assign(system).ok()?)),
    }
}

/// Returns true if a description can be completed such that all deadlines are met.
fn holds(system: &System) -> bool {
    attempt(system).ok().and_then(|planned| verdict(&planned)).is_some_and(|it| it.schedulable)
}

/// Returns a setting for this number of colours.
fn setting(problem: &Setting, colors: usize) -> Setting {
    problem.with_colors(colors.max(1)).unwrap_or(*problem)
}

/// Returns a mistake of this kind.
fn cannot_plan(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new("cannot-plan", message)
}
