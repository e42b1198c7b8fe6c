//! Plans for longer execution times.

use system::description::System;
use verdict::scale;

use super::choices::Choices;
use super::descend::Descent;
use super::exact::Goal;
use super::improve::tried;
use super::judge::{Judge, WHOLE, is_separable};
use super::open::Open;
use super::patterns::{Need, Patterns, reopened, with_budgets};
use super::random::Random;
use super::utilization::least_utilization;
use super::{Request, TO_PLAN, is_plan, search};

/// Parts by which slack is tried to grow, in millionths.
const STEPS: [u64; 10] =
    [1_000_000, 500_000, 250_000, 100_000, 50_000, 20_000, 10_000, 5_000, 2_000, 1_000];
/// A part of the effort is for each.
const PART: u64 = 8;
/// The largest slack that is looked for: execution times a thousand times as long.
const MOST: u64 = 999 * WHOLE;

/// Returns a plan in which all execution times can grow more than in `planned`, which has the slack
/// `slack`, and its own slack, in millionths.
pub fn longer(
    system: &System,
    planned: System,
    slack: u64,
    request: &Request<'_>,
) -> (System, u64) {
    let open = Open::of(system);
    let effort = request.at_most(PART * TO_PLAN) / PART;
    let part = Request { effort, small: false, enough: 1, ..*request };
    let least_budgets = is_separable(system) && !open.budgets.is_empty();
    let mut random = Random(request.seed);
    let (mut best, mut best_slack) = (planned, slack);
    for step in STEPS {
        loop {
            let target = best_slack + (WHOLE + best_slack) / 1_000 * (step / 1_000);
            if (request.stops)() || target > MOST || is_too_much(system, target) {
                break;
            }
            let found = match least_budgets {
                true => with_least_budgets(system, &best, target, &mut random, &part),
                false => {
                    search(&grown(system, target), &[], vec![grown(&best, target)], &part).ok()
                }
            };
            let Some(found) = found else { break };
            let found = with_times_of(found, system);
            let found_slack = slack_of(&found, request);
            if found_slack <= best_slack || !is_plan(&found) {
                break;
            }
            (best, best_slack) = (found, found_slack);
        }
    }
    (best, best_slack)
}

/// Returns a plan for execution times that are longer by this part, from one for shorter ones, where
/// PCPUs do not affect each other.
fn with_least_budgets(
    system: &System,
    shorter: &System,
    target: u64,
    random: &mut Random,
    request: &Request<'_>,
) -> Option<System> {
    let open = Open::of(system);
    let judge = Judge::new(request);
    let longer = grown(system, target);
    let patterns = Patterns::new(&judge, &longer)?;
    let choices = Choices::of(system, &open);
    let (found, need) = match tried(&longer, &choices, Goal::Any, request) {
        (Some(found), _) => found,
        (None, true) => return None,
        (None, false) => {
            let start = grown(&reopened(shorter.clone(), &open), target);
            let descent = Descent { patterns: &patterns, choices: &choices, judge: &judge };
            patterns.is_rough.set(true);
            descent.best(start, random, usize::MAX, Need::holds)
        }
    };
    need.holds().then(|| with_budgets(found, &need))
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
