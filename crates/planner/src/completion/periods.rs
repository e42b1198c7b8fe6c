//! Open periods of VCPUs.
//!
//! A VCPU with a short period needs less budget, because it loses less time to waiting, but it is
//! switched more often. All VCPUs of a VM get the same period. Candidates divide the shortest
//! deadline or all periods of the tasks; the planner chooses the one with which the VM needs least,
//! if each period costs a switch.

use std::collections::BTreeSet;

use analysis::Duration;
use analysis::utilization::Share;
use system::description::{self, System};
use system::diagnostic::Errors;
use system::plan::Budget;

use super::problem::{Problem, grain};
use crate::search::Planner;

/// The assumed cost of a switch in each period, only to compare periods: two switches, and filling
/// the caches of the CPU again. No bound contains it.
const TURN: Duration = Duration(50_000);
/// No shorter one is chosen, unless deadlines are as short.
const SHORTEST: u64 = 500_000;
/// The period of VCPUs in VMs without tasks.
const USUAL: u64 = 10_000_000;
/// Most tasks of a VM that are distributed in the best way for each period; more tasks are spread,
/// which shows as well which period costs least.
const SEARCHED_MAX: usize = 12;
/// Parts into which deadlines and periods are divided.
const PARTS: std::ops::RangeInclusive<u64> = 1..=8;

/// Returns the system with all periods.
pub(super) fn choose(system: &System) -> Result<System, Errors> {
    choose_for(system, &(0..system.vms.len()).collect::<Vec<_>>())
}

/// Returns the system with the periods of these VMs.
pub(super) fn choose_for(system: &System, vms: &[usize]) -> Result<System, Errors> {
    let mut chosen = system.clone();
    for &vm in vms {
        let mut best: Option<(Option<Share>, System)> = None;
        // The longest first: it is taken if a shorter one is not better.
        for period in candidates(system, vm) {
            let with = set(&chosen, vm, period);
            let cost = cost(&with, vm)?;
            let is_better = best.as_ref().is_none_or(|(other, _)| match (cost, other) {
                (Some(cost), Some(other)) => cost < *other,
                // Where nothing fits, the shortest is closest to it.
                (cost, other) => cost.is_some() || other.is_none(),
            });
            if is_better {
                best = Some((cost, with));
            }
        }
        if let Some((_, best)) = best {
            chosen = best;
        }
    }
    Ok(chosen)
}

/// Returns the system with one period for all VCPUs whose periods were left open: the shortest that
/// was chosen. `None` if that is the same system.
pub(super) fn alike(system: &System, chosen: &System) -> Option<System> {
    let open = |vm: &&usize| is_open(&system.vms[**vm]);
    let vms: Vec<usize> = (0..system.vms.len()).filter(|vm| open(&vm)).collect();
    let period = |vm: usize| {
        let pairs = system.vms[vm].vcpus.iter().zip(&chosen.vms[vm].vcpus);
        let open = pairs.filter(|(vcpu, _)| vcpu.server.as_ref().is_some_and(|it| it.period_open));
        open.filter_map(|(_, vcpu)| Some(vcpu.server.as_ref()?.class.value.budget()?.period)).next()
    };
    let all: BTreeSet<Duration> = vms.iter().filter_map(|&vm| period(vm)).collect();
    let shortest = *all.first().filter(|_| all.len() > 1)?;
    Some(vms.iter().fold(system.clone(), |system, &vm| set(&system, vm, shortest)))
}

fn is_open(vm: &description::Vm) -> bool {
    vm.vcpus.iter().any(|vcpu| vcpu.server.as_ref().is_some_and(|server| server.period_open))
}

/// Periods for the VCPUs of a VM, the longest first; none if nothing is open.
pub(super) fn candidates(system: &System, vm: usize) -> Vec<Duration> {
    let described = &system.vms[vm];
    if !is_open(described) {
        return Vec::new();
    }
    let whole = |period: u64| whole(system, period).0;
    let deadline = described.tasks.iter().map(|task| task.deadline.0).min().unwrap_or(USUAL);
    let common = described.tasks.iter().fold(0, |all, task| divisor(all, task.period.0));
    let common = if common == 0 { USUAL } else { common };
    // Longer than the shortest deadline none can be.
    let parts = PARTS.flat_map(|part| [deadline / part, common / part]);
    let shortest = SHORTEST.min(deadline);
    let fit = parts.filter(|period| (shortest..=deadline).contains(period));
    let all: BTreeSet<u64> = fit.map(whole).collect();
    all.into_iter().rev().map(Duration).collect()
}

/// Returns the longest possible period that is not longer, or the shortest: whole ticks, and no odd
/// numbers where budgets need none.
pub(super) fn whole(system: &System, period: u64) -> Duration {
    let tick = system.platform.value.counter.map_or(1, |counter| counter.common_period().0);
    let tick = match grain(system) {
        (grain, Duration(0)) => grain.0,
        _ => tick,
    };
    let longest = Budget::LONGEST_PERIOD.0;
    Duration((period.min(longest) / tick).max(1) * tick)
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Returns the system with this period for the open VCPUs of a VM.
pub(super) fn set(system: &System, vm: usize, period: Duration) -> System {
    let mut changed = system.clone();
    for server in changed.vms[vm].vcpus.iter_mut().filter_map(|vcpu| vcpu.server.as_mut()) {
        if server.period_open {
            let budget = Budget { budget: period, period };
            server.class.value = server.class.value.with_budget(budget);
            server.period_open = false;
        }
    }
    changed
}

/// Returns the share that the VM needs by itself, with the cost of switches; `None` if it does not
/// fit.
fn cost(system: &System, vm: usize) -> Result<Option<Share>, Errors> {
    let problem = Problem::of_vms(system, &[vm])?;
    let Some(subject) = problem.subjects.first() else { return Ok(None) };
    let vms = [subject.vm.clone()];
    let free = problem.free.len() as usize;
    if subject.vm.tasks().len() > SEARCHED_MAX {
        let Some(rough) = Planner::new(&vms, &problem.setting).rough(free) else { return Ok(None) };
        let turns = rough.used.iter().map(|&vcpu| Share::up(TURN, vms[0].vcpus()[vcpu].period));
        return Ok(Some(turns.fold(rough.total, |sum, turn| sum + turn)));
    }
    let Some(plan) = Planner::new(&vms, &problem.setting).plan(free) else { return Ok(None) };
    let used = plan.vms[0].vcpus.iter().zip(subject.vm.vcpus()).filter(|(vcpu, _)| vcpu.is_some());
    Ok(Some(used.fold(plan.total, |sum, (_, slot)| sum + Share::up(TURN, slot.period))))
}
