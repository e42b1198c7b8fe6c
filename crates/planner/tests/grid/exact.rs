//! The planner beside the best plans of small systems.

use planner::completion::{Objective, Options, complete_with};
use system::description::System;

use crate::{judge, number, optimum, outcome, read, small};

const QUICK: u64 = 40;
const MANY: u64 = 1_000;
/// A quick test means something only if at least so many percent of the systems have a plan.
const PLANS_PERCENT: usize = 50;

/// By this part a plan can be better than the best that was tried, because budgets have other
/// grains; with open periods by more, because not all of them are tried.
const BETTER: f64 = 0.01;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Goal {
    LeastProcessorTime,
    MostSlack,
}

/// Returns the plan that the planner prefers.
fn planned(system: &System, goal: Goal) -> Option<System> {
    let mut system = system.clone();
    let objective = match goal {
        Goal::LeastProcessorTime => Objective::LeastTime,
        Goal::MostSlack => Objective::MostSlack,
    };
    complete_with(&mut system, &Options { objective, ..Options::default() }).ok()?;
    judge::passes(&system).then_some(system)
}

/// Returns by how much a plan is worse than the best, as a part; `None` if there is no plan at all.
fn worse(number: u64, goal: Goal) -> Option<f64> {
    let system = read(&small::draw(number));
    let found = planned(&system, goal);
    let (best, ours) = match goal {
        Goal::LeastProcessorTime => {
            (optimum::least_utilization(&system)?, found.map(|it| optimum::utilization(&it)))
        }
        // More is better.
        Goal::MostSlack => {
            let best = optimum::largest_factor(&system)?;
            (1.0 / best, found.map(|it| 1.0 / optimum::factor(&it)))
        }
    };
    Some(ours.map_or(f64::INFINITY, |ours| ours / best - 1.0))
}

fn compare(systems: u64, goal: Goal, limit: f64) {
    let all = outcome::all(0..systems, |number| worse(number, goal));
    let mut worse: Vec<(f64, usize)> =
        all.into_iter().enumerate().filter_map(|(number, worse)| Some((worse?, number))).collect();
    worse.sort_by(|one, other| other.0.total_cmp(&one.0));
    let plans = worse.len();
    let better = |(worse, number): &&(f64, usize)| {
        *worse < -BETTER && !small::draw(*number as u64).has_open_periods()
    };
    let better: Vec<_> = worse.iter().filter(better).collect();
    assert!(better.is_empty(), "better than all plans: {better:?}");
    let late: Vec<String> = worse
        .iter()
        .take_while(|(worse, _)| *worse > limit)
        .map(|(worse, number)| format!("{number}: {:.2} % worse", 100.0 * worse))
        .collect();
    let mean = worse.iter().map(|it| it.0).filter(|it| it.is_finite()).sum::<f64>();
    println!(
        "{goal:?}: {plans} of {systems} small systems have a plan; ours is {:.2} % worse in the mean, \
         {:.2} % in the worst case; {} are more than {} % worse",
        100.0 * mean / plans.max(1) as f64,
        100.0 * worse.first().map_or(0.0, |it| it.0),
        late.len(),
        100.0 * limit
    );
    assert!(
        late.is_empty(),
        "{} of {plans}: {}",
        late.len(),
        late[..late.len().min(10)].join(", ")
    );
    assert!(plans >= systems as usize * PLANS_PERCENT / 100, "only {plans} have a plan");
}

/// Systems of a campaign, a tenth of `BULKHEAD_SYSTEMS`.
fn many() -> u64 {
    number("BULKHEAD_SYSTEMS", 10 * MANY) / 10
}

#[test]
fn no_plan_of_a_small_system_needs_much_less() {
    compare(QUICK, Goal::LeastProcessorTime, 0.01);
}

/// On the PCPU of the console, a smaller budget is enough for a VCPU, and some larger ones are not.
#[test]
fn a_budget_is_found_below_larger_ones_that_are_not_enough() {
    let worse = worse(820, Goal::LeastProcessorTime).expect("a plan");
    assert!(worse < 0.01, "{worse}");
}

#[test]
fn no_plan_of_a_small_system_has_much_more_slack() {
    compare(QUICK, Goal::MostSlack, 0.02);
}

#[test]
#[ignore = "a campaign: make campaign-planner"]
fn no_plan_of_many_small_systems_needs_much_less() {
    compare(many(), Goal::LeastProcessorTime, 0.01);
}

#[test]
#[ignore = "a campaign: make campaign-planner"]
fn no_plan_of_many_small_systems_has_much_more_slack() {
    compare(many(), Goal::MostSlack, 0.02);
}

#[test]
#[ignore = "shows the small system BULKHEAD_SYSTEM"]
fn small_one() {
    let draft = small::draw(number("BULKHEAD_SYSTEM", 0));
    let system = read(&draft);
    println!("{}", draft.to_toml());
    let show = |name: &str, system: Option<System>| {
        let Some(system) = system else { return println!("{name}: none") };
        let (share, factor) = (optimum::utilization(&system), optimum::factor(&system));
        println!("{name}: share {share:.4}, factor {factor:.4}");
        for vm in &system.vms {
            for (index, vcpu) in vm.vcpus.iter().enumerate() {
                let tasks = vm.tasks.iter().filter(|task| task.vcpu == index);
                let tasks: Vec<_> = tasks.map(|task| task.name.value.as_str()).collect();
                let budget = vcpu.server.as_ref().and_then(|it| it.class.value.budget());
                let (pcpu, colors) = (vcpu.pcpu.as_ref().map(|it| it.value), vm.colors.as_ref());
                let colors = colors.map(|colors| colors.value.to_string());
                println!("  {} {index}: {pcpu:?} {budget:?} {tasks:?} {colors:?}", vm.name.value);
            }
        }
    };
    println!("least: {:?}", optimum::least_utilization(&system));
    show("least time", planned(&system, Goal::LeastProcessorTime));
    println!("largest factor: {:?}", optimum::largest_factor(&system));
    show("most slack", planned(&system, Goal::MostSlack));
}
