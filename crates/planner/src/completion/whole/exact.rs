//! The best plan of a small system where PCPUs do not affect each other: all numbers of colours,
//! periods from a list, VCPUs of tasks and PCPUs are tried, as far as they can be better than the
//! best so far.
//!
//! A VCPU needs at least as much everywhere as alone on a PCPU, and VCPUs of a PCPU need together at least
//! as much beside others as without them: these are the bounds.

use std::cmp::Reverse;

use analysis::Duration;
use policy::color::{Color, ColorSet};
use system::description::{Located, System, Vcpu};

use super::super::pcpus::{At, all, given, reserve};
use super::super::problem::free_colors;
use super::choices::Choices;
use super::descend::{set_pcpu, set_period};
use super::judge::Judge;
use super::patterns::{Need, PARTS, Patterns, reopened};

/// Most ways to decide all but PCPUs.
const WAYS: u128 = 40_000;
/// Most VCPUs that go to PCPUs.
const VCPUS: usize = 10;
/// Most steps.
const STEPS: u64 = 300_000;

/// The goal of a search.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Goal {
    /// A plan that needs less than this, and then the least.
    Less(u64),
    /// Any plan.
    Any,
}

/// Periods and VCPUs of tasks for a VM.
#[derive(Clone)]
struct Way {
    period: Option<Duration>,
    /// VCPUs of the open tasks.
    tasks: Vec<usize>,
    /// The need of its VCPUs if each is alone.
    alone: u64,
}

struct Exact<'s, 'j, 'a> {
    patterns: &'s Patterns<'j, 'a>,
    choices: &'s Choices,
    judge: &'s Judge<'a>,
    shared: Vec<usize>,
    goal: Goal,
    best: Option<(System, Need)>,
    bound: u64,
    steps: u64,
}

/// Returns the best plan, if one fulfils the goal, and whether all were tried; `None` if the system
/// is not small.
pub fn exact(
    system: &System,
    patterns: &Patterns<'_, '_>,
    choices: &Choices,
    judge: &Judge<'_>,
    goal: Goal,
) -> Option<(Option<(System, Need)>, bool)> {
    if choices.own_colors || choices.open.pcpus.len() > VCPUS {
        return None;
    }
    // In the background, nothing is promised.
    let has_budget =
        |it: &Vcpu| it.server.as_ref().is_none_or(|it| it.class.value.budget().is_some());
    if !system.vms.iter().flat_map(|vm| &vm.vcpus).all(has_budget) {
        return None;
    }
    let splits = splits(system, choices)?;
    let count = |vm: usize| {
        let slots = choices.slots[vm].len().max(1) as u128;
        let tasks = u32::try_from(choices.tasks(vm).len()).unwrap_or(u32::MAX);
        let periods = choices.periods[vm].len().max(1) as u128;
        slots.checked_pow(tasks).unwrap_or(u128::MAX).saturating_mul(periods)
    };
    let ways =
        (0..system.vms.len()).fold(splits.len() as u128, |all, vm| all.saturating_mul(count(vm)));
    if ways > WAYS {
        return None;
    }
    let mut work = system.clone();
    super::close(&mut work);
    let mut work = reopened(work, &choices.open);
    let shared = reserve(&mut work)?;
    let bound = match goal {
        Goal::Less(bound) => bound,
        // What is more than all PCPUs is no plan.
        Goal::Any => (system.platform.value.cpus.len() as u64).saturating_mul(PARTS as u64) + 1,
    };
    let mut exact =
        Exact { patterns, choices, judge, shared, goal, best: None, bound, steps: STEPS };
    for split in &splits {
        let mut work = work.clone();
        for (vm, colors) in split {
            let Some(place) = work.vms[*vm].colors_open.take() else { continue };
            work.vms[*vm].colors = Some(Located::new(*colors, &place));
        }
        let ways: Vec<Vec<Way>> = (0..work.vms.len()).map(|vm| exact.ways(&mut work, vm)).collect();
        exact.choose(&mut work, &ways, 0, 0);
    }
    let complete = !exact.is_over() || exact.is_found();
    Some((exact.best, complete))
}

/// Returns all ways to give all free colours to the VMs.
fn splits(system: &System, choices: &Choices) -> Option<Vec<Vec<(usize, ColorSet)>>> {
    let free: Vec<Color> = free_colors(system).iter().collect();
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for (number, (_, least)) in choices.colors.iter().enumerate() {
        let behind: usize = choices.colors[number + 1..].iter().map(|(_, least)| least).sum();
        let is_last = number + 1 == choices.colors.len();
        let mut next = Vec::new();
        for counts in &all {
            let left = free.len().checked_sub(counts.iter().sum::<usize>() + behind)?;
            let from = if is_last { left } else { *least };
            next.extend((from.max(*least)..=left).map(|count| [&counts[..], &[count]].concat()));
        }
        all = next;
        if all.len() as u128 > WAYS {
            return None;
        }
    }
    let sets = |counts: Vec<usize>| {
        let mut first = 0;
        let set = |((vm, _), count): (&(usize, usize), usize)| {
            let own = free[first..first + count].iter().copied().collect();
            first += count;
            (*vm, own)
        };
        choices.colors.iter().zip(counts).map(set).collect()
    };
    Some(all.into_iter().map(sets).collect())
}

impl Exact<'_, '_, '_> {
    fn is_found(&self) -> bool {
        self.goal == Goal::Any && self.best.is_some()
    }

    fn is_over(&self) -> bool {
        self.is_found() || self.steps == 0 || self.judge.is_done()
    }

    /// Returns all ways for a VM that can be part of a plan, those that need least first.
    fn ways(&self, work: &mut System, vm: usize) -> Vec<Way> {
        let tasks = self.choices.tasks(vm);
        let slots = &self.choices.slots[vm];
        let mut sets = vec![Vec::new()];
        for _ in &tasks {
            let with = |before: &Vec<usize>| {
                let next = slots.iter().filter(|&&slot| self.is_first(work, vm, before, slot));
                next.map(|slot| [&before[..], &[*slot]].concat()).collect::<Vec<_>>()
            };
            sets = sets.iter().flat_map(with).collect();
        }
        let periods: Vec<Option<Duration>> = match &self.choices.periods[vm][..] {
            [] => vec![None],
            periods => periods.iter().copied().map(Some).collect(),
        };
        let mut ways = Vec::new();
        for period in periods {
            for set in &sets {
                let mut way = Way { period, tasks: set.clone(), alone: 0 };
                self.set(work, vm, &way);
                let alone = |index: usize| self.patterns.of(work, &[(vm, index)], false);
                let alone: Vec<Need> = (0..work.vms[vm].vcpus.len()).map(alone).collect();
                if alone.iter().all(Need::holds) {
                    way.alone = alone.iter().map(|need| need.cost).sum();
                    ways.push(way);
                }
            }
        }
        ways.sort_by_key(|way| way.alone);
        ways
    }

    /// Returns true if a VCPU is the first of those that are like it and have no task yet.
    fn is_first(&self, work: &System, vm: usize, before: &[usize], slot: usize) -> bool {
        let pinned = |slot: usize| {
            let mut tasks = work.vms[vm].tasks.iter();
            tasks.any(|task| !task.vcpu_open && task.vcpu == slot)
        };
        let is_empty = |slot: usize| !before.contains(&slot) && !pinned(slot);
        let like = |index: usize| {
            let (one, other) = (&work.vms[vm].vcpus[slot], &work.vms[vm].vcpus[index]);
            let open = |at: usize| self.choices.open.periods.contains(&(vm, at));
            one.pcpu == other.pcpu
                && match (&one.server, &other.server) {
                    (Some(one), Some(two)) => {
                        one.class.value == two.class.value
                            && one.open
                            && two.open
                            && one.priority.is_none()
                            && two.priority.is_none()
                    }
                    _ => false,
                }
                && open(slot) == open(index)
        };
        !is_empty(slot) || !(0..slot).any(|other| is_empty(other) && like(other))
    }

    fn set(&self, work: &mut System, vm: usize, way: &Way) {
        for (task, slot) in self.choices.tasks(vm).into_iter().zip(&way.tasks) {
            work.vms[vm].tasks[task].vcpu = *slot;
            work.vms[vm].tasks[task].vcpu_open = false;
        }
        if let Some(period) = way.period {
            self.choices.open_periods(vm).into_iter().for_each(|at| set_period(work, at, period));
        }
    }

    /// Chooses a way for each VM from this one on.
    fn choose(&mut self, work: &mut System, ways: &[Vec<Way>], vm: usize, before: u64) {
        let Some(of_vm) = ways.get(vm) else {
            self.place(work);
            return;
        };
        let behind: Option<u64> = ways[vm + 1..].iter().map(|ways| Some(ways.first()?.alone)).sum();
        let Some(behind) = behind else { return };
        for way in of_vm {
            if self.is_over() {
                return;
            }
            // The next ones need more.
            if before + way.alone + behind >= self.bound {
                return;
            }
            self.set(work, vm, way);
            self.choose(work, ways, vm + 1, before + way.alone);
        }
    }

    /// Gives VCPUs their PCPUs.
    fn place(&mut self, work: &System) {
        let mut open: Vec<(At, u64)> = (self.choices.open.pcpus.iter())
            .map(|&at| (at, self.patterns.of(work, &[at], false).cost))
            .collect();
        open.sort_by_key(|(at, cost)| (Reverse(*cost), *at));
        let mut on = vec![Vec::new(); work.platform.value.cpus.len()];
        for at in all(work).into_iter().filter(|at| !self.choices.open.pcpus.contains(at)) {
            if let Some(on) = given(work, at).and_then(|pcpu| on.get_mut(pcpu)) {
                on.push(at);
            }
        }
        let costs: Vec<Need> = on.iter().map(|on| self.patterns.of(work, on, false)).collect();
        if costs.iter().all(Need::holds) {
            let costs: Vec<u64> = costs.iter().map(|need| need.cost).collect();
            self.put(work, &open, &mut on, &costs);
        }
    }

    fn put(&mut self, work: &System, open: &[(At, u64)], on: &mut [Vec<At>], costs: &[u64]) {
        if self.is_over() {
            return;
        }
        self.steps -= 1;
        let behind: u64 = open.iter().map(|(_, cost)| cost).sum();
        if costs.iter().sum::<u64>() + behind >= self.bound {
            return;
        }
        let Some((&(next, _), rest)) = open.split_first() else {
            self.take(work, on);
            return;
        };
        let mut empty = false;
        for index in 0..self.shared.len() {
            let pcpu = self.shared[index];
            // PCPUs without VCPUs are alike; which one serves the console is tried in the end.
            if on[pcpu].is_empty() && std::mem::replace(&mut empty, true) {
                continue;
            }
            on[pcpu].push(next);
            let need = self.patterns.of(work, &on[pcpu], false);
            if need.holds() {
                let mut costs = costs.to_vec();
                costs[pcpu] = need.cost;
                self.put(work, rest, on, &costs);
            }
            on[pcpu].pop();
        }
    }

    /// Takes the best of the ways to put these sets of VCPUs onto PCPUs, if it is better.
    fn take(&mut self, work: &System, on: &[Vec<At>]) {
        let mut placed = work.clone();
        for (pcpu, on) in on.iter().enumerate() {
            let open = on.iter().filter(|at| self.choices.open.pcpus.contains(at));
            open.for_each(|&at| set_pcpu(&mut placed, at, pcpu));
        }
        // The last PCPU serves the console if all are used.
        let last = on.len() - 1;
        let may_swap = |pcpu: &usize| {
            let is_open = |at: &At| self.choices.open.pcpus.contains(at);
            self.shared.contains(pcpu) && on[*pcpu].iter().all(is_open)
        };
        let all_used = on.iter().all(|on| !on.is_empty());
        let swaps: Vec<usize> = match all_used && may_swap(&last) {
            true => (0..on.len()).filter(may_swap).collect(),
            false => vec![last],
        };
        for pcpu in swaps {
            let mut placed = placed.clone();
            if pcpu != last {
                on[pcpu].iter().for_each(|&at| set_pcpu(&mut placed, at, last));
                on[last].iter().for_each(|&at| set_pcpu(&mut placed, at, pcpu));
            }
            let need = self.patterns.need(&placed);
            if need.holds() && need.cost < self.bound {
                self.bound = need.cost;
                self.best = Some((placed, need));
            }
        }
    }
}
