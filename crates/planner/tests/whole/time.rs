//! The longer a search takes, the better is its plan.

use std::path::Path;
use std::time::Duration;

use planner::completion::{Objective, Options, complete_with};
use system::description::System;
use system::plan;
use testing::cases;
use verdict::Verdict;

use crate::random::{SMALL, Shape, system};
use crate::read;

/// Returns what is least for the best plan, when the search is ended after so many candidates, and
/// the number of candidates; without a number, what the search finds without a time.
fn value(system: &System, objective: Objective, candidates: Option<u64>) -> (Vec<i128>, u64) {
    let mut planned = system.clone();
    let stops = |all: u64| candidates.is_some_and(|candidates| all >= candidates);
    let time = candidates.map(|_| Duration::from_secs(3_600));
    let options = Options { objective, seed: 1, time, stops: &stops };
    let outcome = complete_with(&mut planned, &options).expect("a plan");
    let plan = plan::make(&planned).expect("a plan");
    let verdict = Verdict::of_plan(&plan, Some(&planned));
    assert!(verdict.schedulable);
    let mut pcpus: Vec<u32> = verdict.pcpus.iter().map(|it| it.pcpu).collect();
    pcpus.dedup();
    let share = i128::from(planner::report::Report::new(&verdict, Some(&planned)).total_ppm);
    let limits = plan.vms.iter().filter_map(|vm| vm.memory_budget);
    let limits = limits
        .map(|it| (u128::from(it.accesses) * 1_000_000_000 / u128::from(it.period.0)) as i128);
    let limits: Vec<i128> = limits.collect();
    let sum: i128 = limits.iter().sum();
    let slack = i128::from(outcome.slack_ppm.unwrap_or(0));
    let value = match objective {
        Objective::FewestPcpus => vec![pcpus.len() as i128],
        Objective::MostBandwidth(vm) => vec![-limits[vm]],
        Objective::MostSlack if sum > 0 => vec![-slack.min(100_000), -sum],
        Objective::MostSlack => vec![-slack],
        _ => vec![-sum, share],
    };
    (value, outcome.candidates)
}

/// Where the search with a time had to come to its plan by another way, it came to a worse one.
#[test]
fn a_time_never_makes_a_plan_worse() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems/choices.toml");
    let choices = System::load(Path::new(file)).expect("a description");
    let (without, candidates) = value(&choices, Objective::MostSlack, None);
    for more in [1, 2] {
        let (with, _) = value(&choices, Objective::MostSlack, Some(more * candidates));
        assert!(with <= without, "{more}: {with:?} {without:?}");
    }
}

/// For each objective, from what a search does without a time up to twice as much.
#[test]
fn more_effort_never_makes_a_plan_worse() {
    let coupled = Shape { tasks: 2, vms: 2, resources: 1, load: 300, ..SMALL };
    let limited = Shape { tasks: 1, vms: 2, limits: true, ..SMALL };
    let separate = Shape {
        vcpus: 2,
        vms: 3,
        load: 900,
        vcpu: "server = \"sporadic\"\nperiod = \"5ms\"",
        ..SMALL
    };
    let of_limits = [Objective::MostBandwidth(1)];
    let every = [Objective::MostSlack, Objective::LeastTime, Objective::FewestPcpus];
    for (shape, seeds) in [(separate, 1), (coupled, 1), (limited, 1)] {
        for seed in 0..u64::from(cases(seeds)) {
            let described = read(&system(&shape, seed));
            let objectives = every.iter().chain(of_limits.iter().filter(|_| shape.limits));
            for &objective in objectives {
                let (without, candidates) = value(&described, objective, None);
                let mut before = without;
                for quarters in [5, 8] {
                    let (with, _) = value(&described, objective, Some(candidates * quarters / 4));
                    let what = format!("{objective:?}, {shape:?}, {seed}, {quarters}");
                    assert!(with <= before, "{what}: {with:?} {before:?} of {candidates}");
                    before = with;
                }
            }
        }
    }
}
