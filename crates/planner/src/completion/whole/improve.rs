//! From a plan to a better one.

use system::description::System;
use verdict::scale;

use super::super::memory::Limits;
use super::super::pcpus::{all, given};
use super::bases::utilization;
use super::choices::Choices;
use super::descend::Descent;
use super::exact::{Goal, exact};
use super::fill::fill;
use super::judge::{Judge, WHOLE, is_separable};
use super::open::Open;
use super::patterns::{Need, Patterns, reopened, with_budgets};
use super::random::Random;
use super::repair::{Candidate, change, weigh};
use super::{Request, TO_PLAN, finish, is_plan, search, to_plan, value, weights_of};

/// Enough effort to try all plans of a small system.
const TO_TRY_ALL: u64 = 150_000;
/// Changes that come to nothing, before the search ends because nothing can be changed.
const IDLE: usize = 1_000;
/// Parts by which slack is tried to grow, in millionths.
const STEPS: [u64; 8] = [1_000_000, 500_000, 250_000, 100_000, 50_000, 20_000, 10_000, 5_000];
/// The largest slack that is looked for: execution times a thousand times as long.
const MOST: u64 = 999 * WHOLE;

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
        let raised = finish::raise_limits(&judge, limits.as_ref(), next.system);
        let small = finish::shrink(&judge, &open, raised);
        if value(&small) < value(&best) && judge.holds(&small) && is_plan(&small) {
            best = small;
        }
    }
    best
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

/// Returns a plan in which all execution times can grow more, and by how much, in millionths.
pub fn most_slack(system: &System, planned: System, request: &Request<'_>) -> (System, u64) {
    let open = Open::of(system);
    if is_separable(system) && !open.budgets.is_empty() {
        let start = slack_of(&planned, request);
        return wider(system, planned, start, request);
    }
    let mut slack = slack_of(&planned, request);
    let mut best = planned;
    let mut filled = best.clone();
    let weights = weights_of(&best);
    for pcpu in 0..filled.platform.value.cpus.len() {
        fill(&mut filled, &open, &weights, pcpu);
    }
    let of_filled = slack_of(&filled, request);
    if of_filled > slack && is_plan(&filled) {
        (best, slack) = (filled, of_filled);
    }
    let effort = (request.effort / 8).min(TO_PLAN);
    // With time for it, again and again with other random numbers.
    let rounds = if request.effort == u64::MAX { u64::MAX } else { 1 };
    for (round, step) in (0..rounds).flat_map(|round| STEPS.map(|step| (round, step))) {
        if (request.stops)() {
            break;
        }
        let seed = request.seed.wrapping_add(round);
        let part = Request { effort, seed, small: false, enough: 1, ..*request };
        loop {
            let target = slack + (WHOLE + slack) / WHOLE * step + (slack % WHOLE) * step / WHOLE;
            if target > MOST || (request.stops)() {
                break;
            }
            let (open, closed) = (grown(system, target), grown(&best, target));
            let Ok(found) = search(&open, &[], vec![closed], &part) else { break };
            let found = with_times_of(found, system);
            let found_slack = slack_of(&found, request);
            if found_slack <= slack || !is_plan(&found) {
                break;
            }
            (best, slack) = (found, found_slack);
        }
    }
    (best, slack)
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
    let effort = (request.effort / (tried.len() as u64).max(1)).min(8 * TO_PLAN);
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

/// Returns what a task needs at least, whatever its colours are, in millionths.
fn least_utilization(system: &System, (vm, task): (usize, usize)) -> u64 {
    let task_now = &system.vms[vm].tasks[task];
    let shortest = u128::from(task_now.wcet.shortest().0) * u128::from(WHOLE);
    let share = shortest / u128::from(task_now.period.0.max(1));
    u64::try_from(share).unwrap_or(u64::MAX).min(utilization(system, (vm, task)))
}

/// Returns the description with longer execution times.
pub fn grown(system: &System, ppm: u64) -> System {
    let mut grown = system.clone();
    grown.vms.iter_mut().flat_map(|vm| &mut vm.tasks).for_each(|task| scale(&mut task.wcet, ppm));
    grown
}

/// Returns the description with the execution times of another one.
pub fn with_times_of(mut planned: System, described: &System) -> System {
    for (planned, described) in planned.vms.iter_mut().zip(&described.vms) {
        for (planned, described) in planned.tasks.iter_mut().zip(&described.tasks) {
            planned.wcet.clone_from(&described.wcet);
        }
    }
    planned
}

/// Returns the largest part by which all execution times of a plan can grow, in millionths: a whole
/// number of thousandths. 0 if the plan does not hold.
pub fn slack_of(planned: &System, request: &Request<'_>) -> u64 {
    let holds = |thousandths: u64| {
        // What one judge knows is for the same execution times.
        Judge::new(request).holds(&grown(planned, thousandths * 1_000))
    };
    let mut no = 1;
    while no < MOST / 1_000 && holds(no) {
        no *= 2;
    }
    let mut yes = no / 2;
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    yes * 1_000
}

/// Returns true if execution times that are longer by this part need more than all PCPUs.
fn is_too_much(system: &System, ppm: u64) -> bool {
    let tasks = (0..system.vms.len())
        .flat_map(|vm| (0..system.vms[vm].tasks.len()).map(move |task| (vm, task)));
    let needs: u128 = tasks.map(|at| u128::from(least_utilization(system, at))).sum();
    let all = system.platform.value.cpus.len() as u128 * u128::from(WHOLE);
    needs * u128::from(WHOLE + ppm) > all * u128::from(WHOLE)
}

/// Tries all plans of a small system: the best of them, and whether all were tried.
fn tried(
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

/// The same as [`most_slack`], where PCPUs do not affect each other.
fn wider(system: &System, planned: System, slack: u64, request: &Request<'_>) -> (System, u64) {
    let open = Open::of(system);
    let mut structure = reopened(planned.clone(), &open);
    let (mut best, mut slack) = (planned, slack);
    let mut random = Random(request.seed);
    let rounds = if request.effort == u64::MAX { usize::MAX } else { 1 };
    'all: for round in 0..rounds {
        // With time for it, again and again, and longer: what is too much must not take all of it.
        let effort = (request.effort.min(to_plan(system)) / 8) << round.min(6);
        let part = Request { effort, ..*request };
        // With all plans tried, another round finds nothing else.
        let mut is_exhausted = true;
        for step in STEPS {
            loop {
                if (request.stops)() {
                    break 'all;
                }
                let target = slack + (WHOLE + slack) / 1_000 * (step / 1_000);
                if target > MOST || is_too_much(system, target) {
                    break;
                }
                let judge = Judge::new(&part);
                let grown_open = grown(system, target);
                let Some(patterns) = Patterns::new(&judge, &grown_open) else { break 'all };
                let choices = Choices::of(system, &open);
                let found = match tried(&grown_open, &choices, Goal::Any, &part) {
                    (Some(found), _) => Some(found),
                    (None, true) => None,
                    (None, false) => {
                        is_exhausted = false;
                        let start = grown(&structure, target);
                        let descent =
                            Descent { patterns: &patterns, choices: &choices, judge: &judge };
                        patterns.is_rough.set(true);
                        Some(descent.best(start, &mut random, usize::MAX, Need::holds))
                    }
                };
                let Some((found, need)) = found.filter(|(_, need)| need.holds()) else { break };
                let next = with_times_of(found, system);
                let plan = with_budgets(next.clone(), &need);
                let of_plan = slack_of(&plan, request);
                if of_plan <= slack || !is_plan(&plan) {
                    break;
                }
                (best, slack, structure) = (plan, of_plan, next);
            }
        }
        if is_exhausted {
            break;
        }
    }
    // What is left of the PCPUs is given away, too.
    let mut filled = best.clone();
    let weights = weights_of(&best);
    for pcpu in 0..filled.platform.value.cpus.len() {
        fill(&mut filled, &open, &weights, pcpu);
    }
    let of_filled = slack_of(&filled, request);
    if of_filled >= slack && is_plan(&filled) {
        (best, slack) = (filled, of_filled);
    }
    (best, slack)
}
