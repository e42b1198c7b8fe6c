//! The search from a plan to one whose execution times can grow.
//!
//! Three things want the time that tasks leave: the tasks themselves, in case they take longer; VMs whose
//! limits of memory accesses are open; and VCPUs of the background. Limits are therefore as large
//! as a slack of [`TARGET`] allows, or of half of what is possible if that is less; and where a
//! VCPU of the background is on a PCPU, half of the time that tasks do not need there stays free.

use system::description::System;
use system::plan::{Budget, Class};

use super::Objective;
use super::cost::Scale;
use super::memory::Limits;
use super::pcpus::{At, all, given, vcpu};
use super::set_class;
use super::whole::bases::weights;
use super::whole::fill::{Weights, fill};
use super::whole::judge::{Judge, WHOLE};
use super::whole::longer::{grown, longer, slack_of};
use super::whole::open::Open;
use super::whole::place::{Way, place};
use super::whole::{Request, finish, is_plan, weights_of};

/// The slack for which limits of memory accesses are planned, in millionths.
pub(super) const TARGET: u64 = 100_000;
/// A part of the effort is for other PCPUs, periods and VCPUs of tasks.
const SEARCH: u64 = 4;
/// Parts in which budgets are made larger.
const PARTS: u64 = 8;

/// Returns a plan in which all execution times can grow, and the part by which they can, in millionths.
pub(super) fn most_slack(system: &System, planned: System, request: &Request<'_>) -> (System, u64) {
    let open = Open::of(system);
    let judge = Judge::new(request);
    let Some(before) = judge.judge(&planned).filter(|it| !it.holds()) else {
        return of_holding(system, &open, planned, request);
    };
    // What is given is late whatever is planned: the others have what there is all the same.
    let full = filled(&planned, &open);
    let is_as_good = judge.judge(&full).is_some_and(|it| it.lateness() <= before.lateness());
    (if is_as_good && is_plan(&full) { full } else { planned }, 0)
}

fn of_holding(
    system: &System,
    open: &Open,
    planned: System,
    request: &Request<'_>,
) -> (System, u64) {
    let mut best = settled(system, open, planned.clone(), request);
    if let Some(spread) = spread(&planned, open, request) {
        let spread = settled(system, open, spread, request);
        best = if spread.1 > best.1 { spread } else { best };
    }
    let part = Request { effort: request.effort / SEARCH, ..*request };
    let mut searched = None;
    if system.processor_open() {
        let (found, slack) = longer(system, best.0.clone(), best.1, &part);
        searched = (slack > best.1).then(|| settled(system, open, found, request));
    }
    let searched = searched.filter(|it| it.1 > best.1);
    if !open.limits {
        return searched.unwrap_or(best);
    }
    let limits = Limits::of(system);
    let before = limited(&limits, best, request);
    let Some(searched) = searched else { return before };
    let after = limited(&limits, searched, request);
    // More slack does not always allow larger limits.
    let scale = Scale::new(system, Objective::MostSlack, request);
    if scale.cost(&after.0) < scale.cost(&before.0) { after } else { before }
}

/// Returns the plan with its VCPUs on as many PCPUs as there are, those that need most apart.
fn spread(planned: &System, open: &Open, request: &Request<'_>) -> Option<System> {
    if open.pcpus.is_empty() {
        return None;
    }
    let mut cleared = planned.clone();
    for &(vm, vcpu) in &open.pcpus {
        cleared.vms[vm].vcpus[vcpu].pcpu = None;
    }
    let spread = place(&cleared, &weights(&cleared), Way::Worst, usize::MAX)?;
    // The budgets of before may be too small there.
    let filled = filled(&spread, open);
    [filled, spread].into_iter().find(|it| is_plan(it) && Judge::new(request).holds(it))
}

/// Returns a plan with budgets that are as large as PCPUs and their background allow, and its
/// slack.
fn settled(system: &System, open: &Open, planned: System, request: &Request<'_>) -> (System, u64) {
    let before = slack_of(&planned, request);
    if open.budgets.is_empty() {
        return (planned, before);
    }
    let mut best = (planned, before);
    if has_background(system, &best.0) {
        // The plan itself may leave nothing.
        let least = finish::shrink(&Judge::new(request), open, best.0);
        let slack = slack_of(&least, request);
        best = (least, slack);
    }
    let least = best.0.clone();
    let full = filled(&least, open);
    for part in (0..=PARTS).rev() {
        let between = between(&least, &full, open, part);
        if !is_plan(&between) || !Judge::new(request).holds(&between) {
            continue;
        }
        let slack = slack_of(&between, request);
        // With the same slack of all tasks, those that can have more have it.
        if slack >= best.1 {
            best = (between, slack);
        }
        if part == PARTS && slack >= best.1 {
            return best;
        }
    }
    one_by_one(open, best, request)
}

/// Returns the plan with budgets that are as large as each PCPU allows for which that costs no
/// slack, and its slack.
fn one_by_one(
    open: &Open,
    (mut best, slack): (System, u64),
    request: &Request<'_>,
) -> (System, u64) {
    let weights = full(&best);
    for pcpu in 0..best.platform.value.cpus.len() {
        let mut next = best.clone();
        fill(&mut next, open, &weights, pcpu);
        let judge = || Judge::new(request);
        if is_plan(&next) && judge().holds(&next) && judge().holds(&grown(&next, slack)) {
            best = next;
        }
    }
    let slack = slack_of(&best, request);
    (best, slack)
}

/// Returns the plan with budgets as large as PCPUs allow, in proportion to the old ones.
fn filled(least: &System, open: &Open) -> System {
    let mut filled = least.clone();
    let weights = full(least);
    for pcpu in 0..filled.platform.value.cpus.len() {
        fill(&mut filled, open, &weights, pcpu);
    }
    filled
}

/// Returns the weights of budgets as they are, and the share that each PCPU allows.
fn full(least: &System) -> Weights {
    let caps = (0..least.platform.value.cpus.len()).map(|pcpu| cap(least, pcpu)).collect();
    Weights { caps, ..weights_of(least) }
}

/// Returns the share of a PCPU that budgets may have, in millionths.
fn cap(least: &System, pcpu: usize) -> u64 {
    let here: Vec<At> =
        all(least).into_iter().filter(|&at| given(least, at) == Some(pcpu)).collect();
    if !here.iter().any(|&at| is_background(least, at)) {
        return WHOLE;
    }
    let needs = weights(least);
    let needed = |&at: &At| match needs.of(at) {
        0 => budget(least, at).map_or(0, share_ppm),
        need => need,
    };
    let needed = here.iter().map(needed).sum::<u64>().min(WHOLE);
    let used: u64 = here.iter().filter_map(|&at| Some(share_ppm(budget(least, at)?))).sum();
    used.max(needed + (WHOLE - needed) / 2).min(WHOLE)
}

fn share_ppm(budget: Budget) -> u64 {
    let ppm = budget.share().div_ceil(Budget::WHOLE / u128::from(WHOLE));
    u64::try_from(ppm).unwrap_or(WHOLE)
}

fn has_background(system: &System, planned: &System) -> bool {
    all(system).into_iter().any(|at| is_background(planned, at))
}

fn is_background(system: &System, at: At) -> bool {
    let server = vcpu(system, at).server.as_ref();
    server.is_some_and(|server| server.class.value == Class::Background)
}

/// Returns the plan with open budgets between two others.
fn between(least: &System, full: &System, open: &Open, part: u64) -> System {
    let mut between = least.clone();
    let grain = super::problem::grain(least).0.0.max(1);
    for &at in &open.budgets {
        let (Some(low), Some(high)) = (budget(least, at), budget(full, at)) else { continue };
        let room = high.budget.0.saturating_sub(low.budget.0);
        let budget = match part {
            PARTS => high.budget.0.max(low.budget.0),
            part => {
                low.budget.0
                    + (u128::from(room) * u128::from(part) / u128::from(PARTS)) as u64 / grain
                        * grain
            }
        };
        let budget = Budget { budget: analysis::Duration(budget), ..low };
        set_class(&mut between, at, |class| class.with_budget(budget));
    }
    between
}

fn budget(system: &System, at: At) -> Option<Budget> {
    vcpu(system, at).server.as_ref()?.class.value.budget()
}

/// Returns the plan with limits that are as large as its target of slack allows.
fn limited(
    limits: &Limits,
    (planned, slack): (System, u64),
    request: &Request<'_>,
) -> (System, u64) {
    let (mut low, mut most) = (planned.clone(), slack);
    for rate in limits.rates() {
        let next = limits.with_rate(&planned, rate);
        if !Judge::new(request).holds(&grown(&next, most + 1_000)) {
            continue;
        }
        (low, most) = (next.clone(), slack_of(&next, request));
    }
    let target = TARGET.min(most / 2);
    let judge = Judge::new(request);
    let fits = |system: &System| judge.holds(&grown(system, target));
    let raised = limits.largest(&planned, &fits).filter(|it| is_plan(it) && fits(it));
    let raised = raised.unwrap_or_else(|| limits.grown(&low, &fits));
    match is_plan(&raised) && fits(&raised) && Judge::new(request).holds(&raised) {
        true => {
            let slack = slack_of(&raised, request);
            (raised, slack)
        }
        false => (planned, slack),
    }
}
