//! The search from a plan to a better one.

use system::description::System;

use super::super::memory::Limits;
use super::super::pcpus::{At, all, given, vcpu};
use super::candidate::Candidate;
use super::choices::Choices;
use super::descend::Descent;
use super::exact::{Goal, exact};
use super::fill::fill;
use super::judge::{Judge, WHOLE};
use super::open::Open;
use super::patterns::{Need, Patterns, reopened, with_budgets};
use super::random::Random;
use super::repair::{change, weigh};
use super::utilization::least_utilization;
use super::{Request, TO_PLAN, finish, is_plan, search, value, weights_of};

/// Enough effort to try all plans of a small system.
const TO_TRY_ALL: u64 = 150_000;
/// Changes that come to nothing, before the search ends because nothing can be changed.
const IDLE: usize = 1_000;

/// Returns a plan with less processor time, or larger limits; the same if none is found.
pub fn least_time(system: &System, planned: System, request: &Request<'_>) -> System {
    let open = Open::of(system);
    let judge = Judge::new(request);
    if let Some(patterns) = Patterns::new(&judge, system) {
        return smaller(system, &planned, &patterns, request).unwrap_or(planned);
    }
    let limits = open.limits.then(|| Limits::of(system));
    let value = |system: &System| value(limits.as_ref(), system);
    let half = Request { effort: request.effort / 2, enough: usize::MAX, ..*request };
    let other = search(system, &[], vec![planned.clone()], &half).ok();
    let mut best = match other {
        Some(other) if value(&other) < value(&planned) => other,
        _ => planned,
    };
    let judge = Judge::new(&half);
    let mut random = Random(request.seed);
    let mut idle = 0;
    while !judge.is_done() && idle < IDLE {
        idle += 1;
        let Some(mut next) = Candidate::new(&judge, best.clone(), weights_of(&best)) else { break };
        for _ in 0..=random.below(3) {
            let changed = change(&open, limits.as_ref(), &next, &mut random);
            let changed =
                changed.and_then(|(system, weights)| Candidate::new(&judge, system, weights));
            if let Some(changed) = changed {
                (next, idle) = (changed, 0);
            }
        }
        let next = weigh(&judge, &open, next);
        if !next.holds() {
            continue;
        }
        // Where limits cannot grow, only budgets count. Those that were changed show quickly that a
        // change is not worth it.
        let cannot_grow = limits.as_ref().is_none_or(|limits| limits.are_most(&best));
        let next = match cannot_grow {
            true => {
                finish::shrink(&judge, &changed_budgets(&open, &best, &next.system), next.system)
            }
            false => next.system,
        };
        if cannot_grow && value(&next) >= value(&best) {
            continue;
        }
        let raised = finish::raise_limits(&judge, limits.as_ref(), next);
        let small = finish::shrink(&judge, &open, raised);
        if value(&small) < value(&best) && judge.holds(&small) && is_plan(&small) {
            best = small;
        }
    }
    best
}

/// Returns the budgets that are open and differ between two plans, or are on other PCPUs.
fn changed_budgets(open: &Open, one: &System, other: &System) -> Open {
    let of = |system: &System, at: At| {
        let class = vcpu(system, at).server.as_ref().map(|server| server.class.value);
        (given(system, at), class)
    };
    let differs = |at: &&At| of(one, **at) != of(other, **at);
    Open { budgets: open.budgets.iter().filter(differs).copied().collect(), ..Open::default() }
}

/// Returns a plan with less processor time, where PCPUs do not affect each other.
fn smaller(
    system: &System,
    planned: &System,
    patterns: &Patterns<'_, '_>,
    request: &Request<'_>,
) -> Option<System> {
    let open = Open::of(system);
    let (choices, judge) = (Choices::of(system, &open), patterns.judge());
    let start = reopened(planned.clone(), &open);
    let need = patterns.need(&start);
    let is_better = |found: &System| {
        finish::share(found) < finish::share(planned) && judge.holds(found) && is_plan(found)
    };
    let take = |(system, need): (System, Need)| {
        Some(with_budgets(system, &need)).filter(|it| need.holds() && is_better(it))
    };
    let bound = Goal::Less(if need.holds() { need.cost } else { u64::MAX });
    let (found, complete) = tried(system, &choices, bound, request);
    if complete {
        return found.and_then(take).or_else(|| take((start, need)));
    }
    let (start, _) = found.unwrap_or((start, need));
    let descent = Descent { patterns, choices: &choices, judge };
    let mut random = Random(request.seed);
    take(descent.best(start, &mut random, usize::MAX, |_| false))
}

/// Returns a plan that uses fewer PCPUs; the same if none is found.
pub fn fewest_pcpus(system: &System, planned: System, request: &Request<'_>) -> System {
    let used = pcpus(&planned);
    // What VCPUs without server and given PCPUs have is not open.
    let mut fixed: Vec<usize> =
        all(system).into_iter().filter_map(|at| given(system, at)).collect();
    fixed.sort_unstable();
    fixed.dedup();
    let needs: u64 = (0..system.vms.len())
        .flat_map(|vm| (0..system.vms[vm].tasks.len()).map(move |task| (vm, task)))
        .map(|at| least_utilization(system, at))
        .sum();
    let least = usize::try_from(needs / WHOLE).unwrap_or(usize::MAX).max(1);
    let tried = least.max(fixed.len())..used;
    let effort = request.at_most(8 * TO_PLAN) / (tried.len() as u64).max(1);
    for pcpus in tried {
        let few = Request { pcpus: pcpus - fixed.len(), enough: 1, effort, ..*request };
        if let Ok(found) = search(system, &[], Vec::new(), &few) {
            return found;
        }
    }
    planned
}

/// Returns a plan in which a VM may make more memory accesses; the same if none is found.
pub fn most_bandwidth(
    system: &System,
    planned: System,
    vm: usize,
    request: &Request<'_>,
) -> System {
    let open = Open::of(system);
    let limits = Limits::of(system);
    let judge = Judge::new(request);
    let mut wide = planned.clone();
    let weights = weights_of(&wide);
    for pcpu in 0..wide.platform.value.cpus.len() {
        fill(&mut wide, &open, &weights, pcpu);
    }
    let holds = |system: &System| judge.holds(system);
    let mut best = planned;
    for start in [wide, best.clone()] {
        // The others have less and less.
        for part in (0..16).map(|bit| 1u64 << bit) {
            let lower = limits.lower(&start, vm, part);
            if judge.is_done() || !holds(&lower) {
                continue;
            }
            let own = limits.grown_first(&lower, vm, &holds);
            let small = finish::shrink(&judge, &open, limits.grown(&own, &holds));
            let more = limits.of_vm(&small, vm) > limits.of_vm(&best, vm);
            if more && holds(&small) && is_plan(&small) {
                best = small;
            }
        }
    }
    best
}

/// Returns the number of PCPUs on which VCPUs run.
pub fn pcpus(system: &System) -> usize {
    let mut used: Vec<usize> = all(system).into_iter().filter_map(|at| given(system, at)).collect();
    used.sort_unstable();
    used.dedup();
    used.len()
}

/// Tries all plans of a small system: the best of them, and whether all were tried.
pub(super) fn tried(
    system: &System,
    choices: &Choices,
    goal: Goal,
    request: &Request<'_>,
) -> (Option<(System, Need)>, bool) {
    let all = Request { effort: request.effort.max(TO_TRY_ALL), ..*request };
    let judge = Judge::new(&all);
    let patterns = Patterns::new(&judge, system);
    let found = patterns.and_then(|patterns| exact(system, &patterns, choices, &judge, goal));
    found.unwrap_or((None, false))
}
