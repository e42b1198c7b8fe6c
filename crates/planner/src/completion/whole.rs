//! One search over everything that is open: periods, VCPUs of tasks, colours, PCPUs, budgets and
//! limits of memory accesses.
//!
//! A candidate is a complete description. One judge says whether it holds, with the code of
//! `check`, and if not how far it is from that. Candidates are made in many simple ways (budgets in
//! proportion to what tasks need, as large as a PCPU allows; VCPUs spread, packed, or in order), and
//! those that are closest to holding are then changed at random, in whatever is open, as long as
//! that brings them closer. The random numbers come from a seed, and the effort is counted in judged
//! tasks: the same description has the same plan every time.

pub(super) mod bases;
mod candidate;
pub(super) mod certificate;
mod choices;
mod descend;
mod exact;
pub(super) mod fill;
pub(super) mod finish;
pub(super) mod improve;
pub(super) mod judge;
pub(super) mod kinds;
pub(super) mod longer;
mod needs;
pub(super) mod open;
mod overrun;
mod patterns;
pub(super) mod place;
mod random;
mod repair;
mod request;
mod starts;
mod structure;
mod utilization;
pub(super) mod worth;

use std::cmp::Reverse;
use std::collections::HashSet;

use system::description::{System, Vcpu};
use system::plan;

use super::memory::Limits;
use super::pcpus::{all, vcpu};
use super::priorities;
use candidate::Candidate;
use choices::Choices;
use fill::Weights;
use judge::{Judge, Lateness, WHOLE};
use open::Open;
use patterns::{Need, Patterns, reopened, with_budgets};
use random::Random;
use repair::repair;
pub(super) use request::Request;

/// Candidates that are changed if none holds.
const POOL: usize = 6;
/// Changes of each.
const CHANGES: usize = 60;

/// The effort for other orders of VCPUs is that for the order of their periods divided by this.
const OTHER_ORDERS: u64 = 4;

/// Enough effort for a plan: judged tasks, about.
pub(super) const TO_PLAN: u64 = 60_000;
/// The same for each task of a large system.
const OF_TASK: u64 = 500;
/// Enough to improve a plan.
pub(super) const TO_IMPROVE: u64 = 20_000;
/// Enough to see whether a change helps.
pub(super) const TO_ADVISE: u64 = 600;

/// The result of a search in which no candidate holds.
#[derive(Debug)]
pub(super) struct Missed {
    /// Candidates that were judged.
    pub candidates: u64,
    /// The one that is closest to holding.
    pub best: Option<Box<System>>,
}

/// Returns enough effort for a plan of a system.
pub(super) fn to_plan(system: &System) -> u64 {
    let tasks: usize = system.vms.iter().map(|vm| vm.tasks.len()).sum();
    let effort = TO_PLAN.max(OF_TASK * tasks as u64);
    // A candidate takes more, because its budgets are searched.
    if judge::is_separable(system) { 3 * effort } else { effort }
}

/// Returns a description with everything decided that holds. `decided` are descriptions in which
/// periods, VCPUs of tasks and colours are decided already, and `complete` some in which everything
/// is. VCPUs of a PCPU are in the order of their periods.
pub(super) fn search(
    system: &System,
    decided: &[System],
    complete: Vec<System>,
    request: &Request<'_>,
) -> Result<System, Missed> {
    search_or(system, decided, complete, request, None)
}

/// Searches like [`search`], but where nothing is found and `before` has nothing either, VCPUs of a PCPU may have any
/// order that is not given.
pub(super) fn search_or(
    system: &System,
    decided: &[System],
    complete: Vec<System>,
    request: &Request<'_>,
    before: Option<&dyn Fn() -> Option<System>>,
) -> Result<System, Missed> {
    let packs = request.pcpus != usize::MAX;
    let open = Open { packs, lenient: request.lenient, ..Open::of(system) };
    let limits = open.limits.then(|| Limits::of(system));
    let judge = Judge::new(request);
    let patterns = Patterns::new(&judge, system);
    let mut search = Search {
        system,
        choices: Choices::of(system, &open),
        open,
        limits,
        judge: &judge,
        patterns: patterns.as_ref(),
        request,
        random: Random(request.seed),
        rates: Vec::new(),
        rate: None,
        seen: HashSet::new(),
        holding: Vec::new(),
        pool: Vec::new(),
        structures: Vec::new(),
    };
    search.rates = search.limits.as_ref().map_or(Vec::new(), Limits::rates);
    for system in complete {
        if search.patterns.is_some() {
            let system = reopened(system, &search.open);
            search.try_structure(system);
            continue;
        }
        let weights = weights_of(&system);
        if let Some(candidate) = Candidate::new(search.judge, system, weights) {
            search.take(candidate);
        }
    }
    let found = search.run(decided);
    let (Err(_), Some(before)) = (&found, before) else { return found };
    before().or_else(|| search.in_other_orders(decided)).map_or(found, Ok)
}

struct Search<'j, 'a> {
    system: &'a System,
    open: Open,
    choices: Choices,
    limits: Option<Limits>,
    judge: &'j Judge<'a>,
    /// Least budgets, where PCPUs do not affect each other.
    patterns: Option<&'j Patterns<'j, 'a>>,
    request: &'a Request<'a>,
    random: Random,
    /// Common rates of limits, the largest first, and the one that was best so far.
    rates: Vec<u64>,
    rate: Option<usize>,
    seen: HashSet<Vec<u64>>,
    /// Finished candidates.
    holding: Vec<System>,
    /// The others that are closest to holding.
    pool: Vec<(Lateness, Candidate)>,
    /// The same for structures, in which budgets follow from all else.
    structures: Vec<(System, Need)>,
}

impl Search<'_, '_> {
    fn run(&mut self, decided: &[System]) -> Result<System, Missed> {
        self.starts(decided);
        if self.holding.is_empty() {
            self.changes();
        }
        let candidates = self.request.candidates.get();
        let best = self.pool.first().map(|(_, it)| Box::new(it.system.clone()));
        let structure = || self.structures.first().cloned();
        let best = best
            .or_else(|| structure().map(|(system, need)| Box::new(with_budgets(system, &need))));
        let value = |system: &&System| value(self.limits.as_ref(), system);
        let found = self.holding.iter().min_by_key(value).cloned();
        found.ok_or(Missed { candidates, best })
    }

    /// Searches again, with a part of the effort, where VCPUs of a PCPU may have any order.
    fn in_other_orders(&mut self, decided: &[System]) -> Option<System> {
        if !priorities::can_differ(self.system, &self.open) {
            return None;
        }
        self.judge.renew(self.request.effort / OTHER_ORDERS);
        self.open.orders = true;
        if let Some(patterns) = self.patterns {
            patterns.orders.replace(Some(self.open.clone()));
            self.seen.clear();
            self.structures.clear();
        }
        self.run(decided).ok()
    }

    /// Returns true if no more has to be tried.
    fn is_done(&self) -> bool {
        self.judge.is_done() || self.holding.len() >= self.request.enough
    }

    /// Finishes a candidate that holds, and keeps one that is close to that. Returns true if it
    /// holds.
    fn take(&mut self, candidate: Candidate) -> bool {
        if candidate.holds() {
            return self.finish(candidate);
        }
        self.keep(candidate);
        false
    }

    /// Finishes a candidate that holds. Returns false if it turns out to be no plan.
    fn finish(&mut self, candidate: Candidate) -> bool {
        if !is_plan(&candidate.system) {
            return false;
        }
        let mut system = candidate.system;
        if self.request.small {
            system = finish::raise_limits(self.judge, self.limits.as_ref(), system);
            system = finish::shrink(self.judge, &self.open, system);
            system = kinds::improve(self.judge, &self.open, system);
        }
        let holds = is_plan(&system) && self.judge.holds(&system);
        if holds {
            self.holding.push(system);
        }
        holds
    }

    fn keep(&mut self, candidate: Candidate) {
        let lateness = candidate.lateness();
        let at = self.pool.partition_point(|(other, _)| *other <= lateness);
        if at < POOL {
            self.pool.insert(at, (lateness, candidate));
            self.pool.truncate(POOL);
        }
    }

    /// Changes the candidates that are closest to holding, until one holds.
    fn changes(&mut self) {
        if self.patterns.is_some() {
            return self.change_structures();
        }
        let mut round = 0;
        while !self.judge.is_done() && !self.pool.is_empty() {
            let before = self.request.candidates.get();
            for (_, start) in self.pool.clone() {
                if self.judge.is_done() {
                    return;
                }
                let next = repair(
                    self.judge,
                    &self.open,
                    self.limits.as_ref(),
                    start,
                    &mut self.random,
                    CHANGES << round,
                );
                if next.holds() && self.finish(next.clone()) {
                    return;
                }
                if self.seen.insert(decisions(&next.system)) {
                    self.keep(next);
                }
            }
            round = (round + 1).min(6);
            if self.request.candidates.get() == before {
                return;
            }
        }
    }
}

/// Returns true if a complete description has a plan, or needs none.
pub(super) fn is_plan(system: &System) -> bool {
    let needs_none = || system.platform.value.boot.is_err() && overrun::is_allowed(system);
    needs_none() || plan::make(system).is_ok()
}

/// Returns a value that is least for the best plan: large limits first, then small budgets.
fn value(limits: Option<&Limits>, system: &System) -> (Reverse<u128>, u64) {
    (Reverse(limits.map_or(0, |limits| limits.sum(system))), finish::share(system))
}

/// Returns the weights with which budgets are as they are.
pub(super) fn weights_of(system: &System) -> Weights {
    let weight = |vcpu: &Vcpu| {
        let budget = vcpu.server.as_ref().and_then(|server| server.class.value.budget());
        budget.map_or(0, |it| (it.share() / 1_000_000_000_000) as u64)
    };
    let vcpus = system.vms.iter().map(|described| {
        let has_tasks = |vcpu: usize| described.tasks.iter().any(|task| task.vcpu == vcpu);
        let of = |(index, it)| if has_tasks(index) { weight(it).max(1) } else { 0 };
        described.vcpus.iter().enumerate().map(of).collect()
    });
    Weights { vcpus: vcpus.collect(), caps: vec![WHOLE; system.platform.value.cpus.len()] }
}

/// Says that budgets are decided.
fn close(system: &mut System) {
    let vcpus = system.vms.iter_mut().flat_map(|vm| &mut vm.vcpus);
    for server in vcpus.filter_map(|vcpu| vcpu.server.as_mut()) {
        (server.open, server.period_open) = (false, false);
    }
}

/// Returns all decisions of a complete description as numbers.
fn decisions(system: &System) -> Vec<u64> {
    let mut all_of = Vec::new();
    for at in all(system) {
        let vcpu = vcpu(system, at);
        all_of.push(vcpu.pcpu.as_ref().map_or(u64::MAX, |pcpu| pcpu.value));
        let budget = vcpu.server.as_ref().and_then(|server| server.class.value.budget());
        all_of.extend(budget.map_or([0; 2], |it| [it.budget.0, it.period.0]));
        let priority = vcpu.server.as_ref().and_then(|server| server.priority.as_ref());
        all_of.push(priority.map_or(0, |priority| priority.value));
    }
    all_of.extend(kinds::decisions(system));
    for vm in &system.vms {
        all_of.extend(vm.colors.iter().map(|it| u64::from(it.value.len())));
        all_of.extend(vm.tasks.iter().map(|task| task.vcpu as u64));
        let sets = vm.tasks.iter().filter_map(|task| task.colors.as_ref());
        all_of.extend(sets.map(|set| u64::from(set.value.len())));
    }
    all_of
}
