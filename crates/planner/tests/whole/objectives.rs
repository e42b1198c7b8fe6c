//! What is best by one objective is no worse by it than what was found for another one.

use planner::completion::{Objective, Options, Weights, complete_with, front};
use planner::report::Report;
use system::description::System;
use system::plan;
use verdict::Verdict;

use crate::random::{SMALL, Shape, system};
use crate::read;

/// VMs that wait for each other, and one that has a PCPU of its own.
fn described() -> System {
    let shape = Shape { cpus: 5, resources: 2, load: 450, ..SMALL };
    let own = "[[vm]]\nname = \"own\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n";
    read(&(system(&shape, 1) + own))
}

/// Returns the processor time of all VCPUs, and the slack if that was planned for.
fn planned(system: &System, objective: Objective) -> (u64, u64) {
    let mut planned = system.clone();
    let options = Options { objective, ..Options::default() };
    let outcome = complete_with(&mut planned, &options).expect("a plan");
    let plan = plan::make(&planned).expect("a plan");
    let verdict = Verdict::of_plan(&plan, Some(&planned));
    assert!(verdict.schedulable);
    (Report::new(&verdict, Some(&planned)).total_ppm, outcome.slack_ppm.unwrap_or(0))
}

#[test]
fn a_front_ends_with_the_plans_of_both_objectives() {
    let system = described();
    let (points, _) = front(&system, None, &Options::default()).expect("a front");
    let (least, _) = planned(&system, Objective::LeastTime);
    let (_, most) = planned(&system, Objective::MostSlack);
    let tasks = 4 * 450_000;
    // The PCPU of the last VM is counted, too.
    assert!(
        (1_000_000 + tasks..=least).contains(&points[0].total_ppm),
        "{} {least}",
        points[0].total_ppm
    );
    let last = points.last().expect("a plan").slack_ppm;
    assert!(last >= most, "{last} {most}");
}

#[test]
fn weights_find_no_plan_with_less_time() {
    let system = described();
    let (least, _) = planned(&system, Objective::LeastTime);
    let weights = Weights { time: 1, ..Weights::default() };
    let (weighted, _) = planned(&system, Objective::Weighted(weights));
    assert!(least <= weighted, "{least} {weighted}");
}

/// A VCPU without tasks could do with less, but then the hypervisor would take much of it.
#[test]
fn vcpus_without_tasks_have_a_hundredth() {
    let shape = Shape { vms: 2, tasks: 1, vcpus: 2, load: 450, ..SMALL };
    for weights in [[1, 0], [1, 1]] {
        let mut system = read(&system(&shape, 1));
        let weights = Weights { time: weights[0], slack: weights[1], ..Weights::default() };
        let objective = Objective::Weighted(weights);
        complete_with(&mut system, &Options { objective, ..Options::default() }).expect("a plan");
        let budgets = system.vms.iter().flat_map(|vm| &vm.vcpus);
        for budget in budgets.filter_map(|it| it.server.as_ref()?.class.value.budget()) {
            assert!(budget.budget.0 * 100 >= budget.period.0, "{budget:?}");
        }
    }
}
