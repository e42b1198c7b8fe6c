//! From a plan to one that is better by an objective.

use system::description::System;

use super::cost::Scale;
use super::whole::{Request, TO_IMPROVE, improve};
use super::{Objective, front, slack};

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
    let effort = request.at_most(TO_IMPROVE);
    improve::least_time(system, planned, &Request { effort, ..*request })
}
