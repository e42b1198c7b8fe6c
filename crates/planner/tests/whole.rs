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
use verdict::Verdict;

fn read(text: &str) -> System {
    System::from_toml("s.toml", text, Path::new(""))
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn holds(system: &System) -> bool {
    let plan = plan::make(system).unwrap_or_else(|errors| panic!("{errors}"));
    Verdict::of_plan(&plan, Some(system)).schedulable
}

/// Returns how many of these random systems have a plan. All that are planned hold.
fn planned(shape: &Shape, seeds: u64) -> u64 {
    let is_planned = |seed: &u64| {
        let mut it = read(&system(shape, *seed));
        let options = Options { objective: Objective::LeastTime, ..Options::default() };
        match complete_with(&mut it, &options) {
            Ok(_) => {
                assert!(holds(&it), "{seed}: a plan that `check` refuses");
                true
            }
            Err(Refusal::NoPlan(errors)) => {
                println!("{seed}: {errors}");
                false
            }
            Err(Refusal::Input(errors)) => panic!("{errors}"),
        }
    };
    (0..seeds).filter(is_planned).count() as u64
}

/// Eight VMs on eight PCPUs.
const EIGHT: Shape = Shape { cpus: 8, vms: 8, colors: true, ..SMALL };

/// Budgets as if nobody waited for resources are too small; larger ones are enough.
#[test]
fn resources_are_planned_for() {
    assert_eq!(planned(&Shape { resources: 1, ..SMALL }, 12), 12);
    let periods = "server = \"deferrable\"\nperiod = \"5ms\"";
    assert_eq!(planned(&Shape { resources: 2, vcpu: periods, ..SMALL }, 6), 6);
    assert_eq!(planned(&Shape { tasks: 25, load: 300, resources: 8, ..EIGHT }, 2), 2);
}

/// VMs with little to do are not packed so tightly that no limit is low enough.
#[test]
fn the_lighter_the_load_the_more_is_planned() {
    for load in [50, 100, 200, 400] {
        let shape = Shape { tasks: 25, load, limits: true, ..EIGHT };
        assert_eq!(planned(&shape, 3), 3, "{load}");
    }
}

/// 16 VCPUs that need far less than there is.
#[test]
fn many_vcpus_find_their_places() {
    let shape = Shape { vcpus: 4, tasks: 8, load: 500, reload: 50, ..EIGHT };
    assert_eq!(planned(&Shape { cpus: 4, vms: 4, ..shape }, 3), 3);
}
