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
pub(super) mod certificate;
pub(super) mod fill;
pub(super) mod finish;
pub(super) mod improve;
pub(super) mod judge;
pub(super) mod open;
pub(super) mod place;
mod random;
mod repair;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::HashSet;

use system::description::{System, Vcpu};
use system::plan;

use super::memory::Limits;
use super::pcpus::{all, vcpu};
use bases::{Colors, Periods, Tasks};
use fill::{Weights, fill};
use judge::{Judge, Lateness, WHOLE};
use open::Open;
use place::{Way, place};
use random::Random;
use repair::{Candidate, repair};

/// Candidates that hold and are finished, before the best of them is taken.
const ENOUGH: usize = 4;
/// Candidates that are changed if none holds.
const POOL: usize = 6;
/// Changes of each.
const CHANGES: usize = 60;

/// Enough effort for a plan: judged tasks, about.
pub(super) const TO_PLAN: u64 = 60_000;
/// Enough to see whether a change helps.
pub(super) const TO_ADVISE: u64 = 600;

/// What is searched, and for how long.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// Judged tasks, about.
    pub effort: u64,
    /// The seed of random numbers.
    pub seed: u64,
    /// PCPUs that may be used beside those that are given.
    pub pcpus: usize,
    /// True if budgets shall be as small as deadlines allow, and not as large as PCPUs allow.
    pub small: bool,
    /// The best of this number of plans is taken.
    pub enough: usize,
    /// Counts judged candidates.
    pub candidates: &'a Cell<u64>,
    /// Ends the search.
    pub stops: &'a dyn Fn() -> bool,
}

impl<'a> Request<'a> {
    /// Returns a request for a plan with small budgets.
    pub fn new(effort: u64, candidates: &'a Cell<u64>, stops: &'a dyn Fn() -> bool) -> Self {
        let (seed, pcpus) = (1, usize::MAX);
        Self { effort, seed, pcpus, small: true, enough: ENOUGH, candidates, stops }
    }
}

/// What the search found where no candidate holds.
#[derive(Debug)]
pub(super) struct Missed {
    /// Candidates that were judged.
    pub candidates: u64,
    /// The one that is closest to holding.
    pub best: Option<Box<System>>,
}

/// Returns a description with everything decided that holds. `decided` are descriptions in which
/// periods, VCPUs of tasks and colours are decided already, and `complete` some in which everything
/// is.
pub(super) fn search(
    system: &System,
    decided: &[System],
    complete: Vec<System>,
    request: &Request<'_>,
) -> Result<System, Missed> {
    let open = Open { packs: request.pcpus != usize::MAX, ..Open::of(system) };
    let limits = open.limits.then(|| Limits::of(system));
    let mut search = Search {
        system,
        open,
        limits,
        judge: Judge::new(request),
        request,
        random: Random(request.seed),
        rates: Vec::new(),
        rate: None,
        seen: HashSet::new(),
        holding: Vec::new(),
        pool: Vec::new(),
    };
    search.rates = search.limits.as_ref().map_or(Vec::new(), Limits::rates);
    for system in complete {
        let weights = weights_of(&system);
        if let Some(candidate) = Candidate::new(&search.judge, system, weights) {
            search.take(candidate);
        }
    }
    search.run(decided)
}

struct Search<'a> {
    system: &'a System,
    open: Open,
    limits: Option<Limits>,
    judge: Judge<'a>,
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
}

impl Search<'_> {
    fn run(mut self, decided: &[System]) -> Result<System, Missed> {
        self.starts(decided);
        if self.holding.is_empty() {
            self.changes();
        }
        let candidates = self.request.candidates.get();
        let best = self.pool.first().map(|(_, it)| Box::new(it.system.clone()));
        let value = |system: &&System| value(self.limits.as_ref(), system);
        let found = self.holding.iter().min_by_key(value).cloned();
        found.ok_or(Missed { candidates, best })
    }

    /// Returns true if no more has to be tried.
    fn is_done(&self) -> bool {
        self.judge.is_done() || self.holding.len() >= self.request.enough
    }

    /// Tries simple candidates, until some hold.
    fn starts(&mut self, decided: &[System]) {
        const PERIODS: [Periods; 10] = [
            Periods::Own(WHOLE / 2),
            Periods::Part(4),
            Periods::Harmonic,
            Periods::Time(1_000_000),
            Periods::Own(0),
            Periods::Own(WHOLE),
            Periods::Common(1),
            Periods::Common(2),
            Periods::Common(5),
            Periods::Own(WHOLE / 4 * 3),
        ];
        const TASKS: [Tasks; 6] = [
            Tasks::Spread,
            Tasks::First(WHOLE / 10 * 8),
            Tasks::ByPeriod,
            Tasks::First(WHOLE / 2),
            Tasks::Around,
            Tasks::First(WHOLE),
        ];
        let periods = if self.open.periods.is_empty() { &PERIODS[..1] } else { &PERIODS[..] };
        let tasks = if self.open.tasks.is_empty() { &TASKS[..1] } else { &TASKS[..] };
        for base in decided {
            self.start(base);
        }
        // All pairs, those with the first ones first.
        let mut pairs: Vec<(usize, usize)> = (0..periods.len())
            .flat_map(|period| (0..tasks.len()).map(move |task| (period, task)))
            .collect();
        pairs.sort_by_key(|(period, task)| (period + task, *period));
        for (period, task) in pairs {
            if self.is_done() {
                return;
            }
            // The half is for changes.
            if self.judge.spent_ppm() > WHOLE / 2 {
                return;
            }
            let base = bases::with_periods(self.system, &self.open, periods[period]);
            let base = bases::with_tasks(&base, &self.open, tasks[task]);
            let colors = [Colors::Planned, Colors::Alike];
            let colors = if self.open.colors.is_empty() { &colors[..1] } else { &colors[..] };
            for &colors in colors {
                let before = self.holding.len();
                if let Some(base) = bases::with_colors(&base, &self.open, colors) {
                    self.start(&base);
                }
                if self.holding.len() > before {
                    break;
                }
            }
        }
    }

    /// Tries the candidates that follow from a description in which periods, VCPUs of tasks and
    /// colours are decided.
    fn start(&mut self, base: &System) {
        let needs = bases::weights(base);
        // All rates are tried again.
        self.rate = None;
        // What delays others does less on fewer PCPUs.
        let (all, half) = (self.request.pcpus, base.platform.value.cpus.len().div_ceil(2));
        let ways = [
            (Way::Worst, all),
            (Way::Apart, all),
            (Way::Best(WHOLE / 10 * 8), all),
            (Way::Worst, half.min(all)),
            (Way::ByVm, all),
            (Way::Around, all),
            (Way::Best(WHOLE / 2), all),
        ];
        let ways = if self.open.pcpus.is_empty() { &ways[..1] } else { &ways[..] };
        // Where VCPUs hold resources, or wait for accesses, some time is left for that.
        let caps = match judge::is_separable(base) {
            true => &[WHOLE][..],
            false => &[WHOLE, WHOLE / 100 * 95, WHOLE / 100 * 85, WHOLE / 100 * 70, WHOLE / 2][..],
        };
        for &(way, pcpus) in ways {
            if self.is_done() {
                return;
            }
            let Some(placed) = place(base, &needs, way, pcpus) else { continue };
            let mut held = false;
            for weights in weightings(&needs, caps) {
                held |= self.try_filled(&placed, weights);
                if self.is_done() {
                    return;
                }
            }
            // The next way would differ only in what is free.
            if held {
                return;
            }
        }
    }

    /// Tries a description in which only budgets and limits are open. Returns true if it holds.
    fn try_filled(&mut self, placed: &System, weights: Weights) -> bool {
        let mut system = placed.clone();
        close(&mut system);
        for pcpu in 0..system.platform.value.cpus.len() {
            fill(&mut system, &self.open, &weights, pcpu);
        }
        if !self.seen.insert(decisions(&system)) {
            return false;
        }
        let Some(candidate) = self.with_rate(system, weights) else { return false };
        self.take(candidate)
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

    /// Returns the candidate with the best of some common rates for limits that are open.
    fn with_rate(&mut self, system: System, weights: Weights) -> Option<Candidate> {
        let Some(limits) = &self.limits else {
            return Candidate::new(&self.judge, system, weights);
        };
        // All rates for the first candidate, then those beside the best.
        let tried = match self.rate {
            None => 0..self.rates.len(),
            Some(best) => best.saturating_sub(1)..(best + 2).min(self.rates.len()),
        };
        let mut best: Option<(usize, Candidate)> = None;
        for index in tried {
            let limited = limits.with_rate(&system, self.rates[index]);
            let Some(next) = Candidate::new(&self.judge, limited, weights.clone()) else {
                continue;
            };
            if best.as_ref().is_none_or(|(_, it)| next.lateness() < it.lateness()) {
                best = Some((index, next));
            }
            if best.as_ref().is_some_and(|(_, it)| it.holds()) || self.judge.is_done() {
                break;
            }
        }
        let (index, best) = best?;
        self.rate = Some(index);
        Some(best)
    }

    /// Finishes a candidate that holds. Returns false if it turns out to be no plan.
    fn finish(&mut self, candidate: Candidate) -> bool {
        if !is_plan(&candidate.system) {
            return false;
        }
        let mut system = candidate.system;
        if self.request.small {
            system = finish::raise_limits(&self.judge, self.limits.as_ref(), system);
            system = finish::shrink(&self.judge, &self.open, system);
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
        let mut round = 0;
        while !self.judge.is_done() && !self.pool.is_empty() {
            let before = self.request.candidates.get();
            for (_, start) in self.pool.clone() {
                if self.judge.is_done() {
                    return;
                }
                let next = repair(
                    &self.judge,
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
    system.platform.value.boot.is_err() || plan::make(system).is_ok()
}

/// Returns what is least for the best plan: large limits first, then small budgets.
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

/// Weights that are tried at first: in proportion, alike, and between.
fn weightings(needs: &Weights, caps: &[u64]) -> Vec<Weights> {
    let used = || needs.vcpus.iter().flatten().filter(|weight| **weight > 0);
    let mean = used().sum::<u64>() / (used().count() as u64).max(1);
    let map = |change: &dyn Fn(u64) -> u64| {
        let change = |weight: &u64| if *weight == 0 { 0 } else { change(*weight).max(1) };
        let vcpus = needs.vcpus.iter().map(|vm| vm.iter().map(change).collect());
        Weights { vcpus: vcpus.collect(), caps: needs.caps.clone() }
    };
    let all = [map(&|it| it), map(&|it| it + mean / 4), map(&|_| mean)];
    let capped = |weights: &Weights, cap: u64| {
        let caps = weights.caps.iter().map(|_| cap).collect();
        Weights { caps, ..weights.clone() }
    };
    caps.iter().flat_map(|&cap| all.iter().map(move |weights| capped(weights, cap))).collect()
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
    }
    for vm in &system.vms {
        all_of.extend(vm.colors.iter().map(|it| u64::from(it.value.len())));
        all_of.extend(vm.tasks.iter().map(|task| task.vcpu as u64));
        let sets = vm.tasks.iter().filter_map(|task| task.colors.as_ref());
        all_of.extend(sets.map(|set| u64::from(set.value.len())));
    }
    all_of
}
