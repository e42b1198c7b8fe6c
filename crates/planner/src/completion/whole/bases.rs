//! The bases from which a search starts: periods, VCPUs of tasks, and colours.

use std::cmp::Reverse;

use policy::color::{Color, ColorSet};
use system::description::{Located, System};

use super::super::pcpus::vcpu;
use super::super::problem::{Problem, free_colors, least_colors};
use super::super::{colors, periods};
use super::fill::Weights;
use super::judge::WHOLE;
use super::needs;
use super::open::Open;
use super::patterns::Patterns;
use super::utilization::{least_utilization, utilization};
use crate::search::Planner;

/// A way to give tasks their VCPUs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tasks {
    /// The largest first, each where least is needed.
    Spread,
    /// The largest first, each to the first VCPU that has room up to this share in millionths.
    First(u64),
    /// The largest first, each to the fullest VCPU that has room up to a whole PCPU, as if the VM had
    /// all colours that make its tasks shorter.
    Fewest,
    /// One after the other, in the order of the description.
    Around,
    /// In the order of their periods, in parts that need the same.
    ByPeriod,
}

/// A way to choose open periods.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Periods {
    /// Of the periods that fit a VM, the longest first, the one after this share in millionths.
    Own(u64),
    /// The shortest deadline of all tasks, divided by this.
    Common(u64),
    /// The shortest deadline of the VM, divided by this.
    Part(u64),
    /// The largest power of two times 125 us that is at most half of the shortest deadline of the
    /// VM.
    Harmonic,
    /// This time in nanoseconds, or half of the shortest deadline of the VM.
    Time(u64),
    /// Longer than the longest given period of other VMs, and so with a lower priority: by this part of what is left to the
    /// shortest deadline of the VM, in millionths.
    Behind(u64),
}

/// A way to share out colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Colors {
    /// Such that utilisations are least.
    Planned,
    /// The same number for each VM.
    Alike,
    /// The same, and the tasks of VMs with a virtual cache have all of the VM.
    Whole,
    /// The same, of half of the colours: more take longer to load again.
    Few,
    /// Such that VCPUs need least, each alone on a PCPU.
    Needed,
}

/// Returns the description with these periods.
pub fn with_periods(system: &System, open: &Open, how: Periods) -> System {
    let mut system = system.clone();
    let deadlines = system.vms.iter().flat_map(|vm| &vm.tasks).map(|task| task.deadline.0);
    let shortest = deadlines.min().unwrap_or(10_000_000);
    for vm in 0..system.vms.len() {
        if !open.periods.iter().any(|at| at.0 == vm) {
            continue;
        }
        let own = periods::candidates(&system, vm);
        let deadlines = system.vms[vm].tasks.iter().map(|task| task.deadline.0);
        let deadline = deadlines.min().unwrap_or(10_000_000);
        let whole = |period: u64| Some(periods::whole(&system, period.max(1)));
        let period = match how {
            Periods::Own(share) => {
                let last = own.len().saturating_sub(1) as u64;
                own.get((share * last).div_ceil(WHOLE) as usize).copied()
            }
            Periods::Common(part) => whole(shortest / part.max(1)),
            Periods::Part(part) => whole(deadline / part.max(1)),
            Periods::Time(time) => whole(time.min(deadline / 2)),
            Periods::Behind(part) => {
                let given = longest_given(&system, vm).filter(|given| *given < deadline);
                given.and_then(|given| {
                    let left = u128::from(deadline - given) * u128::from(part) / u128::from(WHOLE);
                    whole(given + left as u64)
                })
            }
            Periods::Harmonic => {
                let powers = (0..20).map(|power| 125_000 << power);
                whole(powers.take_while(|it| *it <= deadline / 2).last().unwrap_or(125_000))
            }
        };
        if let Some(period) = period {
            system = periods::set(&system, vm, period);
        }
    }
    system
}

/// Returns the longest given period of VCPUs of other VMs, in nanoseconds.
fn longest_given(system: &System, vm: usize) -> Option<u64> {
    let others = system.vms.iter().enumerate().filter(|(index, _)| *index != vm);
    let servers = others.flat_map(|(_, it)| &it.vcpus).filter_map(|it| it.server.as_ref());
    let given = servers.filter(|server| !server.open);
    given.filter_map(|server| Some(server.class.value.budget()?.period.0)).max()
}

/// Returns the description with a VCPU for each task.
pub fn with_tasks(system: &System, open: &Open, how: Tasks) -> System {
    let mut system = system.clone();
    for vm in 0..system.vms.len() {
        let mut tasks: Vec<usize> =
            open.tasks.iter().filter(|at| at.0 == vm).map(|at| at.1).collect();
        // In the background there is no promise.
        let mut vcpus: Vec<usize> = (0..system.vms[vm].vcpus.len()).collect();
        vcpus.retain(|&index| {
            let server = vcpu(&system, (vm, index)).server.as_ref();
            server.is_none_or(|server| server.class.value.budget().is_some())
        });
        if tasks.is_empty() || vcpus.is_empty() {
            continue;
        }
        let need = |task: usize| match how {
            Tasks::Fewest => least_utilization(&system, (vm, task)),
            _ => utilization(&system, (vm, task)),
        };
        match how {
            Tasks::Spread | Tasks::First(_) | Tasks::Fewest => {
                tasks.sort_by_key(|&task| Reverse(need(task)))
            }
            Tasks::ByPeriod => tasks.sort_by_key(|&task| system.vms[vm].tasks[task].deadline),
            Tasks::Around => {}
        }
        let all: u64 = tasks.iter().map(|&task| need(task)).sum();
        let mut loads: Vec<u64> = vcpus
            .iter()
            .map(|&vcpu| {
                let pinned = system.vms[vm].tasks.iter().enumerate();
                let pinned = pinned.filter(|(_, it)| !it.vcpu_open && it.vcpu == vcpu);
                pinned.map(|(task, _)| need(task)).sum()
            })
            .collect();
        // A small given budget has little room.
        let room: Vec<u64> = vcpus
            .iter()
            .map(|&index| {
                let server = vcpu(&system, (vm, index)).server.as_ref();
                let given = server.filter(|it| !it.open).and_then(|it| it.class.value.budget());
                given.map_or(WHOLE, |it| (it.share() / 1_000_000_000_000) as u64).max(1)
            })
            .collect();
        let full = |loads: &[u64], at: usize, more: u64| {
            u128::from(loads[at] + more) * u128::from(WHOLE) / u128::from(room[at])
        };
        let mut before = 0;
        let mut chosen = Vec::new();
        for (number, &task) in tasks.iter().enumerate() {
            let own = need(task);
            let least = || (0..vcpus.len()).min_by_key(|&at| full(&loads, at, own)).unwrap_or(0);
            let has_room = |at: &usize, most: u64| full(&loads, *at, own) <= u128::from(most);
            let first = |most: u64| (0..vcpus.len()).find(|at| has_room(at, most));
            // The first of those that are fullest.
            let fullest = || {
                let room = (0..vcpus.len()).rev().filter(|at| has_room(at, WHOLE));
                room.max_by_key(|&at| full(&loads, at, own))
            };
            let at = match how {
                Tasks::Spread => least(),
                Tasks::First(most) => first(most).unwrap_or_else(least),
                Tasks::Fewest => fullest().unwrap_or_else(least),
                Tasks::Around => number % vcpus.len(),
                Tasks::ByPeriod => {
                    let part = (before + own / 2) * vcpus.len() as u64 / all.max(1);
                    (part as usize).min(vcpus.len() - 1)
                }
            };
            before += own;
            loads[at] += own;
            chosen.push((task, vcpus[at]));
        }
        for (task, vcpu) in chosen {
            let task = &mut system.vms[vm].tasks[task];
            (task.vcpu, task.vcpu_open) = (vcpu, false);
        }
    }
    system
}

/// Returns the description with colours for the VMs that have none yet; tasks have their VCPUs.
/// [`Colors::Needed`] is only for where there are `patterns`.
pub fn with_colors(
    system: &System,
    open: &Open,
    how: Colors,
    patterns: Option<&Patterns<'_, '_>>,
) -> Option<System> {
    if open.colors.is_empty() {
        return Some(system.clone());
    }
    match how {
        Colors::Alike => return split(system, open, 1, true),
        Colors::Whole => return split(system, open, 1, false),
        Colors::Few => return split(system, open, 2, false),
        Colors::Needed => return patterns.and_then(|it| needs::with_colors(system, open, it)),
        Colors::Planned => {}
    }
    let problem = Problem::new(system).ok()?;
    let vms: Vec<_> = problem.subjects.iter().map(|subject| subject.vm.clone()).collect();
    let plan = Planner::new(&vms, &problem.setting).plan(problem.free.len() as usize);
    let Some(plan) = plan else { return split(system, open, 1, true) };
    let mut system = system.clone();
    let mut left = problem.free;
    for (subject, planned) in problem.subjects.iter().zip(plan.vms) {
        colors::give(&mut system, subject, &planned, &mut left);
    }
    colors::share_rest(&mut system, &open.colors, left);
    Some(system)
}

/// The same: as many of this part of all colours for all VMs alike, and of those with a virtual
/// cache for all VCPUs if they are to be `apart`.
fn split(system: &System, open: &Open, part: usize, apart: bool) -> Option<System> {
    let described = system;
    let mut system = described.clone();
    let free: Vec<Color> = free_colors(&system).iter().collect();
    let each = free.len() / part / open.colors.len().max(1);
    let mut rest = free.as_slice();
    let least = |vm: &usize| least_colors(described, *vm).max(1);
    for (number, &vm) in open.colors.iter().enumerate() {
        let behind: usize = open.colors[number + 1..].iter().map(least).sum();
        let vllc = system.vms[vm].vllc;
        let most = rest.len().checked_sub(behind)?;
        let wanted = each.clamp(1, most.max(1));
        let fits = |&count: &usize| count >= least(&vm) && (!vllc || count.is_power_of_two());
        let count = (1..=wanted).rev().find(fits).or_else(|| (wanted..=most).find(fits))?;
        let (own, others) = rest.split_at_checked(count)?;
        rest = others;
        let place = system.vms[vm].colors_open.take()?;
        let set: ColorSet = own.iter().copied().collect();
        system.vms[vm].colors = Some(Located::new(set, &place));
        if !vllc || !apart {
            continue;
        }
        let mut used: Vec<usize> = system.vms[vm].tasks.iter().map(|task| task.vcpu).collect();
        used.sort_unstable();
        used.dedup();
        for task in &mut system.vms[vm].tasks {
            let at = used.iter().position(|vcpu| *vcpu == task.vcpu).unwrap_or(0);
            let (from, to) = (own.len() * at / used.len(), own.len() * (at + 1) / used.len());
            let part: ColorSet = own.get(from..to)?.iter().copied().collect();
            task.colors = Some(Located::new(if part.is_empty() { set } else { part }, &place));
        }
    }
    Some(system)
}

/// Returns weights in proportion to the needs of the tasks of each VCPU; 0 for VCPUs without tasks.
pub fn weights(system: &System) -> Weights {
    let mut vcpus: Vec<Vec<u64>> = system.vms.iter().map(|vm| vec![0; vm.vcpus.len()]).collect();
    for (vm, described) in system.vms.iter().enumerate() {
        for (index, task) in described.tasks.iter().enumerate() {
            if let Some(weight) = vcpus[vm].get_mut(task.vcpu) {
                *weight += utilization(system, (vm, index));
            }
        }
    }
    Weights { vcpus, caps: vec![WHOLE; system.platform.value.cpus.len()] }
}
