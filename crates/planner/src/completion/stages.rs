//! Everything is decided step by step.

use std::cell::RefCell;

use analysis::Duration;
use system::description::{Located, System, Vcpu};
use system::plan::Budget;

use super::pcpus::{self, At};
use super::problem::{self, Problem, Subject};
use super::whole::kinds;
use super::{Obstacle, budgets, colors, memory, overheads, periods};
use crate::search::Planner;

/// Returns the system with everything decided stage by stage. `decided` gets systems in which only
/// budgets, PCPUs and limits are open.
pub(super) fn staged(system: &System, decided: &RefCell<Vec<System>>) -> Result<System, Obstacle> {
    // Where nothing is open, PCPUs are not either.
    if !system.processor_open() {
        let mut system = system.clone();
        return memory::limit(&mut system, &[]).map(|()| system);
    }
    kinds::best(system, |start, is_first| match is_first {
        true => in_stages(start, decided),
        false => in_stages(start, &RefCell::default()),
    })
}

/// The same, with kinds of servers, overrun and the protocol of locks decided.
fn in_stages(system: &System, decided: &RefCell<Vec<System>>) -> Result<System, Obstacle> {
    let chosen = periods::choose(system).map_err(Obstacle::Input)?;
    let first = match settle(&chosen, decided) {
        Err(Obstacle::Pcpus(crowd)) => Obstacle::Pcpus(crowd),
        other => return other,
    };
    // VCPUs share PCPUs more easily if their periods are alike.
    match periods::alike(system, &chosen) {
        Some(alike) => settle(&alike, decided).map_err(|_| first),
        None => Err(first),
    }
}

/// Returns the system, of which all periods are known, with everything decided.
fn settle(system: &System, decided: &RefCell<Vec<System>>) -> Result<System, Obstacle> {
    let problem = Problem::new(system).map_err(Obstacle::Input)?;
    let planned: Vec<usize> = problem.subjects.iter().map(|subject| subject.index).collect();
    // With neighbours, the tasks of a large system stay where they are best without.
    let first: RefCell<Option<System>> = RefCell::default();
    overheads::settle(system, &planned, |neighbours| {
        let fixed = first.borrow().as_ref().map(|first| with_vcpus_of(system, first));
        let (system, budgets) = match &fixed {
            Some(fixed) => {
                let problem = Problem::new(fixed).map_err(Obstacle::Input)?;
                without_pcpus(fixed, &problem, neighbours, decided)?
            }
            None => without_pcpus(system, &problem, neighbours, decided)?,
        };
        if fixed.is_none() && overheads::is_large(&system) {
            *first.borrow_mut() = Some(system.clone());
        }
        with_pcpus(system, &planned, &budgets)
    })
}

/// Returns the system with the VCPUs that its tasks have in another one.
fn with_vcpus_of(system: &System, decided: &System) -> System {
    let mut fixed = system.clone();
    for (vm, decided) in fixed.vms.iter_mut().zip(&decided.vms) {
        for (task, decided) in vm.tasks.iter_mut().zip(&decided.tasks) {
            (task.vcpu, task.vcpu_open) = (decided.vcpu, decided.vcpu_open);
        }
    }
    fixed
}

/// Returns the system with budgets for VCPUs that have `neighbours` neighbours, wherever they come to
/// be, and the VCPUs whose budgets were open.
fn without_pcpus(
    system: &System,
    problem: &Problem,
    neighbours: u64,
    decided: &RefCell<Vec<System>>,
) -> Result<(System, Vec<At>), Obstacle> {
    let mut setting = problem.setting;
    setting.neighbours = neighbours;
    let vms: Vec<_> = problem.subjects.iter().map(|subject| subject.vm.clone()).collect();
    let free = problem.free.len() as usize;
    let plan = Planner::new(&vms, &setting).plan(free).ok_or(Obstacle::Tasks)?;
    let mut system = system.clone();
    let mut left = problem.free;
    let open = |subject: &&Subject| system.vms[subject.index].colors_open.is_some();
    let colored: Vec<usize> =
        problem.subjects.iter().filter(open).map(|subject| subject.index).collect();
    for (subject, planned) in problem.subjects.iter().zip(&plan.vms) {
        colors::give(&mut system, subject, planned, &mut left);
        for (vcpu, planned) in subject.slots.iter().zip(&planned.vcpus) {
            let groups = planned.iter().flat_map(|planned| &planned.tasks);
            for task in groups.flat_map(|group| &subject.tasks[*group]) {
                let task = &mut system.vms[subject.index].tasks[*task];
                (task.vcpu, task.vcpu_open) = (*vcpu, false);
            }
        }
    }
    colors::share_rest(&mut system, &colored, left);
    decided.borrow_mut().push(system.clone());
    let mut open_budgets = Vec::new();
    let (_, spare) = problem::grain(&system);
    for (subject, planned) in problem.subjects.iter().zip(&plan.vms) {
        for (slot, (vcpu, planned)) in subject.slots.iter().zip(&planned.vcpus).enumerate() {
            let least = planned.as_ref().map(|planned| subject.budget(slot, planned, &setting));
            let budget = least.map(|least| Duration(least.0.saturating_add(spare.0)));
            let described = &mut system.vms[subject.index].vcpus[*vcpu];
            if planned.is_some() && described.server.as_ref().is_some_and(|server| server.open) {
                open_budgets.push((subject.index, *vcpu));
            }
            set_budget(described, budget);
        }
    }
    Ok((system, open_budgets))
}

/// Returns the system with PCPUs, limits of memory accesses, and these budgets as small as they can
/// be then.
fn with_pcpus(mut system: System, planned: &[usize], budgets: &[At]) -> Result<System, Obstacle> {
    pcpus::place(&mut system, planned).map_err(Obstacle::Pcpus)?;
    if memory::matters(&system) {
        memory::limit(&mut system, budgets)?;
    } else {
        if system.platform.value.overheads.is_some() {
            // Who shares a PCPU costs the others switches, which nobody knew of before.
            memory::stretch(&mut system, budgets);
        }
        budgets::shrink(&mut system, budgets);
    }
    Ok(system)
}

/// Gives an open server its budget, or the least one if it has no tasks.
fn set_budget(vcpu: &mut Vcpu, budget: Option<Duration>) {
    let Some(server) = vcpu.server.as_mut().filter(|server| server.open) else { return };
    let Some(Budget { period, .. }) = server.class.value.budget() else { return };
    let budget = budget.unwrap_or(budgets::without_tasks(period)).max(Budget::SHORTEST);
    let budget = Budget { budget: budget.min(period), period };
    server.class = Located::new(server.class.value.with_budget(budget), &server.class.place);
    server.open = false;
}
