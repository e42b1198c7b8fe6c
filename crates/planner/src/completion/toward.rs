//! The search from a plan to one that is better by an objective.

use system::description::System;

use super::cost::Scale;
use super::nearby::Walk;
use super::whole::judge::is_separable;
use super::whole::{Request, TO_IMPROVE, TO_PLAN, improve};
use super::{HEAVIER_MAX, Objective, front, slack};

/// Returns a plan that is better by the objective of a scale; the same if none is found.
pub(super) fn toward(
    system: &System,
    planned: System,
    scale: &mut Scale<'_>,
    request: &Request<'_>,
) -> System {
    match scale.objective {
        Objective::LeastTime => least_time(system, planned, request),
        Objective::MostSlack | Objective::Described => {
            slack::most_slack(system, planned, request).0
        }
        Objective::FewestPcpus => improve::fewest_pcpus(system, planned, request),
        Objective::MostBandwidth(vm) => improve::most_bandwidth(system, planned, vm, request),
        Objective::Weighted(weights) => front::weighted(system, planned, &weights, scale, request),
    }
}

fn least_time(system: &System, planned: System, request: &Request<'_>) -> System {
    let tasks: usize = system.vms.iter().map(|vm| vm.tasks.len()).sum();
    // Each candidate takes longer there.
    let is_large = tasks > HEAVIER_MAX;
    let effort = request.at_most(if is_large { TO_IMPROVE } else { TO_PLAN });
    let part = Request { effort, ..*request };
    let best = improve::least_time(system, planned, &part);
    if is_large || is_separable(system) {
        return best;
    }
    // Where VCPUs delay each other, single decisions are worth a change that random ones miss.
    let walk = Walk::new(system, &best, Objective::LeastTime, None, &part);
    walk.run().unwrap_or(best)
}
