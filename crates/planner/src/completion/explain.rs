//! Why there is no plan, and what would help.

use analysis::response::{Workload, response_times};
use analysis::supply::{ServerSupply, Supply};
use analysis::{Caches, Duration, Failure, Server};
use bulkhead_system::description::System;
use bulkhead_system::diagnostic::Diagnostic;
use policy::color::ColorSet;

use super::advice::{Advice, alone, least_budget};
use super::problem::{Problem, Subject};
use super::setting;
use crate::least_utilization::allocate;
use crate::search::Planner;
use crate::{Coloring, Slot, Task, Vm};

/// The first thing that does not fit.
pub(super) fn failure(system: &System, problem: &Problem) -> Diagnostic {
    let found = problem.subjects.iter().find_map(|subject| of_vm(system, problem, subject));
    found.unwrap_or_else(|| together(system, problem))
}

/// A VCPU that does not fit by itself, or a task that fits into none.
fn of_vm(system: &System, problem: &Problem, subject: &Subject) -> Option<Diagnostic> {
    let free = problem.free.len() as usize;
    let vm = &subject.vm;
    let fits = |slot: Slot| least_budget(vm, slot, &problem.setting, free).is_some();
    let with_index = || vm.vcpus().iter().copied().zip(&subject.slots);
    if let Some((slot, vcpu)) = with_index().find(|(slot, _)| !fits(*slot)) {
        return Some(of_vcpu(system, problem, subject, slot, &format!("on VCPU {vcpu}")));
    }
    let open = (0..vm.tasks().len()).filter(|task| vm.pinned() >> task & 1 == 0);
    let only = |slot: Slot, task: usize| Slot { pinned: 1 << task, ..slot };
    let misfit =
        open.into_iter().find(|&task| !with_index().any(|(slot, _)| fits(only(slot, task))));
    misfit.map(|task| {
        let best = vm.vcpus().iter().max_by_key(|slot| {
            slot.budget.map_or(u64::MAX, |budget| budget.0 * 1_000 / slot.period.0.max(1))
        });
        let slot = only(*best.unwrap_or(&vm.vcpus()[0]), task);
        of_vcpu(system, problem, subject, slot, "on any VCPU")
    })
}

/// The first task that misses its deadline in a VCPU with the tasks that are pinned to it.
fn of_vcpu(
    system: &System,
    problem: &Problem,
    subject: &Subject,
    slot: Slot,
    place: &str,
) -> Diagnostic {
    let described = &system.vms[subject.index];
    let free = problem.free.len() as usize;
    let own = crate::indices(slot.pinned);
    let late = alone(&subject.vm, slot).and_then(|vm| late(&vm, slot, problem, free));
    let (task, late) = late.unwrap_or((0, None));
    let task = own.get(task).map_or(0, |task| subject.tasks[*task]);
    let task = &described.tasks[task].name;
    let budget = match slot.budget {
        Some(budget) if budget < slot.period => format!("a budget of {budget}"),
        _ => "a whole PCPU".into(),
    };
    let colors = match subject.vm.coloring() {
        Coloring::Fixed(_) => String::new(),
        _ => format!(" and all {free} colours that are free"),
    };
    let late =
        late.map_or("needs more time than there is".into(), |late| format!("is late by {late}"));
    let message = format!(
        "task `{}` of VM `{}` {late} {place}, with {budget}{colors}",
        task.value, described.name.value
    );
    let advice = Advice::new(&subject.vm, slot, problem, problem.all);
    Diagnostic::new("cannot-plan", message).at(&task.place, "this task").help(advice.to_string())
}

/// The first task of the only VCPU that misses its deadline, and by how much at least.
fn late(vm: &Vm, slot: Slot, problem: &Problem, free: usize) -> Option<(usize, Option<Duration>)> {
    let members: Vec<&Task> = vm.tasks().iter().collect();
    let sets = match vm.coloring() {
        Coloring::Fixed(sets) => sets.clone(),
        Coloring::Shared => vec![ColorSet::first(free.max(1) as u32); members.len()],
        Coloring::Own => allocate(&members, &setting(&problem.setting, free)),
    };
    let tasks = members.iter().zip(&sets);
    let tasks: Vec<analysis::Task> =
        tasks.map(|(task, set)| *task.with_colors(set.len() as usize)).collect();
    let budget = slot.budget.unwrap_or(slot.period);
    let server = Server::new(problem.setting.kind, budget, slot.period).ok()?;
    let workload = Workload::new(&tasks)
        .with_supply(Supply::Server(ServerSupply::new(server)))
        .with_caches(Caches::new(&sets, problem.setting.reload));
    let over = |time: Duration, task: usize| {
        let deadline = tasks[task].deadline();
        (time > deadline).then(|| Duration(time.0 - deadline.0))
    };
    response_times(&workload).into_iter().enumerate().find_map(|(task, response)| match response {
        Ok(response) => over(response.time, task).map(|late| (task, Some(late))),
        Err(Failure::Unschedulable { at_least, .. }) => Some((task, over(at_least, task))),
        Err(_) => Some((task, None)),
    })
}

/// All fit by themselves, but not all together.
fn together(system: &System, problem: &Problem) -> Diagnostic {
    let free = problem.free.len() as usize;
    let vms: Vec<Vm> = problem.subjects.iter().map(|subject| subject.vm.clone()).collect();
    let more = (free + 1..=problem.all).find(|&colors| {
        Planner::new(&vms, &setting(&problem.setting, colors)).plan(colors).is_some()
    });
    let names: Vec<String> = problem
        .subjects
        .iter()
        .map(|subject| format!("`{}`", system.vms[subject.index].name.value))
        .collect();
    let names = names.join(", ");
    let mistake = Diagnostic::new(
        "cannot-plan",
        format!("no plan was found for {names} together, with the {free} colours that are free"),
    );
    let mistake = match problem.subjects.first() {
        Some(subject) => mistake.at(&system.vms[subject.index].name.place, "this VM among them"),
        None => mistake,
    };
    match more {
        Some(colors) => mistake.help(format!(
            "they fit with {colors} colours: give other VMs, or the hypervisor, {} fewer",
            colors - free
        )),
        None => mistake.help("shorten execution times, or give the VMs more VCPUs"),
    }
}
