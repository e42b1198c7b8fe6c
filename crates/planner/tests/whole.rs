//! Everything that is open is decided together: there is a plan where simple ones hold.

#[path = "whole/kinds.rs"]
mod kinds;
#[path = "whole/objectives.rs"]
mod objectives;
#[path = "whole/random.rs"]
mod random;
#[path = "whole/time.rs"]
mod time;

use std::path::Path;

use planner::completion::{Objective, Options, Refusal, complete_with};
use random::{SMALL, Shape, system};
use system::description::System;
use system::plan;
use testing::cases;
use verdict::Verdict;

fn read(text: &str) -> System {
    System::from_toml("s.toml", text, Path::new(""))
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn holds(system: &System) -> bool {
    let plan = plan::make(system).unwrap_or_else(|errors| panic!("{errors}"));
    Verdict::of_plan(&plan, Some(system)).schedulable
}

/// Each of these random systems has a plan, which holds.
#[track_caller]
fn all_planned(shape: &Shape, seeds: u32) {
    for seed in 0..u64::from(cases(seeds)) {
        let mut it = read(&system(shape, seed));
        let options = Options { objective: Objective::LeastTime, ..Options::default() };
        match complete_with(&mut it, &options) {
            Ok(_) => assert!(holds(&it), "{seed}: a plan that `check` refuses"),
            Err(Refusal::NoPlan(errors)) => panic!("{seed} of {shape:?}: {errors}"),
            Err(Refusal::Input(errors)) => panic!("{errors}"),
        }
    }
}

/// Eight VMs on eight PCPUs.
const EIGHT: Shape = Shape { cpus: 8, vms: 8, colors: true, ..SMALL };

/// Budgets as if nobody waited for resources are too small; larger ones are enough.
#[test]
fn resources_are_planned_for() {
    all_planned(&Shape { resources: 1, ..SMALL }, 6);
    let periods = "server = \"deferrable\"\nperiod = \"5ms\"";
    all_planned(&Shape { resources: 2, vcpu: periods, ..SMALL }, 3);
    all_planned(&Shape { tasks: 25, load: 300, resources: 8, ..EIGHT }, 1);
}

/// VMs with little to do are not packed so tightly that no limit is low enough.
#[test]
fn the_lighter_the_load_the_more_is_planned() {
    for load in [50, 100, 200, 400] {
        let shape = Shape { tasks: 25, load, limits: true, ..EIGHT };
        all_planned(&shape, 2);
    }
}

/// 16 VCPUs that need far less than there is.
#[test]
fn many_vcpus_find_their_places() {
    let shape = Shape { vcpus: 4, tasks: 8, load: 500, reload: 50, ..EIGHT };
    all_planned(&Shape { cpus: 4, vms: 4, ..shape }, 3);
}
