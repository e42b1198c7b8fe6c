//! Limits of memory accesses, and the budgets of processor time that they need.
//!
//! Accesses of other VCPUs delay a task, so the larger their limits are, the larger the budget that
//! its VCPU needs. Limits are worth more than processor time that a VCPU could leave unused. So
//! open budgets are first made as large as fits, then the limits as large as deadlines allow, and
//! then the budgets as small as the limits allow.

mod limits;

use analysis::{Duration, Reason};
use system::description::System;
use system::diagnostic::Errors;
use system::plan::Budget;
use verdict::{Combination, TaskVerdict, VcpuVerdict, all_of};

use super::least::least;
use super::pcpus::{At, in_time, judge, order};
use super::problem::grain;
use super::{Obstacle, can_be_planned, cannot_plan, set_class, verdict};
pub(super) use limits::Limits;

/// Steps between the least budget of a VCPU and its period, when budgets are made larger.
const STRETCH: u64 = 32;

/// Returns true if memory accesses of others delay tasks.
pub(super) fn matters(system: &System) -> bool {
    let mut tasks = system.vms.iter().flat_map(|vm| &vm.tasks);
    system.counts_accesses() || tasks.any(|task| task.accesses.is_some())
}

/// Decides the open limits, and then these budgets again, which are sufficient without accesses of
/// others.
pub(super) fn limit(system: &mut System, budgets: &[At]) -> Result<(), Obstacle> {
    let mut wide = system.clone();
    stretch(&mut wide, budgets);
    if wide.limits_open() {
        let limits = Limits::of(&wide);
        let least = limits.least(&wide);
        can_be_planned(&least).map_err(Obstacle::Input)?;
        wide =
            limits.largest(&wide, &schedulable).ok_or_else(|| Obstacle::Memory(Box::new(least)))?;
    }
    if schedulable(&wide) {
        shrink(&mut wide, budgets);
    }
    *system = wide;
    Ok(())
}

fn schedulable(system: &System) -> bool {
    verdict(system).is_some_and(|verdict| verdict.schedulable)
}

/// Explains why even the least limits, those of `least`, are too large.
pub(super) fn explain(system: &System, least: &System) -> Errors {
    let place = system.limits().find(|limit| limit.is_open()).map(|limit| &limit.amount.place);
    let mut mistake = cannot_plan("no limit of memory accesses is low enough");
    if let Some(place) = place {
        mistake = mistake.at(place, "this one, with the others");
    }
    let Some(verdict) = verdict(least) else { return mistake.into() };
    let late: Vec<_> = verdict.tasks().filter(|(_, task)| !task.ok).collect();
    let is_combined = |task: &TaskVerdict| task.failure == Some(Reason::Combined);
    let Some(&(vcpu, task)) = late.iter().find(|(_, task)| is_combined(task)).or(late.first())
    else {
        return mistake.into();
    };
    if is_combined(task) {
        let combined = late.iter().filter(|(_, task)| is_combined(task));
        let combined: Vec<Combination> =
            combined.flat_map(|(vcpu, _)| vcpu.combined.iter().cloned()).collect();
        let (_, help) = all_of(&combined);
        mistake.message = format!(
            "task `{}` of VM `{}` has no bound, whatever the limits are: {}",
            task.task,
            vcpu.vm,
            all_of(&vcpu.combined).0
        );
        return mistake.help(help).into();
    }
    mistake.message = format!(
        "no limit of memory accesses is low enough for task `{}` of VM `{}`: {}",
        task.task,
        vcpu.vm,
        lateness(vcpu, task)
    );
    mistake.help(advice(system, vcpu, task)).into()
}

/// Describes how late a task is with the least limits.
fn lateness(vcpu: &VcpuVerdict, task: &TaskVerdict) -> String {
    match task.wcrt_ns {
        Some(wcrt) => {
            let late = wcrt.saturating_sub(task.deadline_ns);
            format!("with one access in each period it is late by {}", Duration(late))
        }
        None => format!(
            "with one access in each period there is no bound for it: {}",
            vcpu.why_no_bound(task)
        ),
    }
}

/// Proposes a change for a task that is late with the least limits.
fn advice(system: &System, vcpu: &VcpuVerdict, task: &TaskVerdict) -> String {
    let others = vcpu.unlimited_neighbours.iter().map(|vm| format!("`{vm}`"));
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        let they = if others.len() == 1 { "has" } else { "have" };
        return format!(
            "{} on other PCPUs {they} no limit: give `bandwidth = \"planned\"` there, too",
            others.join(", ")
        );
    }
    let tasks = || system.vms.iter().filter(|vm| vm.name.value == vcpu.vm).flat_map(|vm| &vm.tasks);
    let described = tasks().find(|it| it.name.value == task.task);
    match (task.wcrt_ns, described.is_some_and(|task| task.accesses.is_none())) {
        (_, true) => "say in `accesses` how many one of its jobs makes at most".into(),
        (Some(wcrt), _) => {
            let budget = vcpu.budget_ns.map_or("", |_| ", or with a larger budget of its VCPU");
            format!("it fits with a deadline of {}{budget}", Duration(wcrt))
        }
        (None, _) => "give its VCPU more processor time".into(),
    }
}

/// A number that fits, unlike the one after it: between one that does and one that does not.
fn largest_between(yes: u64, no: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut yes, mut no) = (yes, no);
    while no.saturating_sub(yes) > 1 {
        let middle = yes + (no - yes) / 2;
        if fits(middle) { yes = middle } else { no = middle }
    }
    yes
}

/// Amounts that are tried where no other is enough for all.
const PARTS: u64 = 32;

/// Makes these budgets larger, those of a PCPU alike, as far as all on it still get theirs and no
/// more of its tasks are late.
pub(super) fn stretch(system: &mut System, open: &[At]) {
    for members in by_pcpu(system, open) {
        let first: Vec<Option<Budget>> = members.iter().map(|&at| budget(system, at)).collect();
        let with = |steps: u64| {
            let mut changed = system.clone();
            for (at, given) in members.iter().zip(&first) {
                let Some(given) = given.filter(|_| open.contains(at)) else { continue };
                let room = u128::from(given.period.0.saturating_sub(given.budget.0));
                let step = grain(system).0.0.max(1);
                let more = room * u128::from(steps) / u128::from(STRETCH) / u128::from(step);
                let budget = Duration(given.budget.0 + more as u64 * step);
                let budget = Budget { budget, ..given };
                set_class(&mut changed, *at, |class| class.with_budget(budget));
            }
            changed
        };
        // Each gets its budget, and its tasks are in time.
        let enough = |system: &System| {
            judge(system, &members).iter().flat_map(|it| [it.ok, in_time(it)]).collect::<Vec<_>>()
        };
        let before = enough(system);
        let fits = |steps: u64| {
            let changed = with(steps);
            let shares = members.iter().filter_map(|&at| Some(budget(&changed, at)?.share()));
            shares.fold(0u128, u128::saturating_add) <= Budget::WHOLE
                && enough(&changed).iter().zip(&before).all(|(after, before)| *after || !before)
        };
        let steps = largest_between(0, STRETCH + 1, |steps| steps <= STRETCH && fits(steps));
        // A little more for those above can be too much for one below, and much more for all enough.
        let holds = |steps: &u64| fits(*steps) && enough(&with(*steps)).iter().all(|it| *it);
        let all = match holds(&steps) {
            true => None,
            false => (1..=PARTS).rev().map(|part| STRETCH * part / PARTS).find(holds),
        };
        *system = with(all.unwrap_or(steps));
    }
}

/// Makes these budgets as small as deadlines allow, one after the other, those with the highest
/// priorities first.
fn shrink(system: &mut System, open: &[At]) {
    for members in by_pcpu(system, open) {
        for &at in members.iter().filter(|at| open.contains(at)) {
            let Some(given) = budget(system, at) else { continue };
            let step = grain(system).0.0.max(1);
            let most = given.budget.0.saturating_sub(Budget::SHORTEST.0) / step;
            let with = |steps: u64| {
                let budget = Duration(given.budget.0 - (most - steps) * step);
                let mut changed = system.clone();
                set_class(&mut changed, at, |class| class.with_budget(Budget { budget, ..given }));
                changed
            };
            if let Some(steps) = least(most, |steps| schedulable(&with(steps)), |_| true) {
                *system = with(steps);
            }
        }
    }
}

/// Returns the VCPUs of each PCPU that has some of these, the highest priority first.
fn by_pcpu(system: &System, open: &[At]) -> Vec<Vec<At>> {
    let pcpu = |&(vm, vcpu): &At| system.vms[vm].vcpus[vcpu].pcpu.as_ref().map(|it| it.value);
    let mut pcpus: Vec<u64> = open.iter().filter_map(pcpu).collect();
    pcpus.sort_unstable();
    pcpus.dedup();
    let all = (0..system.vms.len())
        .flat_map(|vm| (0..system.vms[vm].vcpus.len()).map(move |vcpu| (vm, vcpu)));
    let all: Vec<At> = all.filter(|&at| budget(system, at).is_some()).collect();
    let on = |wanted: u64| {
        let mut members: Vec<At> =
            all.iter().copied().filter(|at| pcpu(at) == Some(wanted)).collect();
        members.sort_by_key(|&at| order(system, at));
        members
    };
    pcpus.into_iter().map(on).collect()
}

fn budget(system: &System, (vm, vcpu): At) -> Option<Budget> {
    system.vms[vm].vcpus[vcpu].server.as_ref()?.class.value.budget()
}
