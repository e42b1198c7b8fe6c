//! The worth of a plan, by objective.

use system::description::System;

use super::super::Objective;
use super::super::memory::Limits;
use super::fill::fill;
use super::open::Open;
use super::{Request, finish, improve, longer, weights_of};

/// Returns numbers that are least for the best plan of a description: those of the objective, and
/// then the time of all PCPUs.
pub fn worth(
    system: &System,
    planned: &System,
    objective: Objective,
    request: &Request<'_>,
) -> (u128, u128) {
    let limits = Limits::of(system);
    let first = match objective {
        Objective::LeastTime => u128::MAX - limits.sum(planned),
        Objective::MostSlack | Objective::Described => {
            u128::MAX - u128::from(slack(system, planned, request))
        }
        Objective::FewestPcpus => improve::pcpus(planned) as u128,
        Objective::MostBandwidth(vm) => u128::MAX - limits.of_vm(planned, vm),
        Objective::Weighted(weights) if weights.slack > weights.time => {
            u128::MAX - u128::from(slack(system, planned, request))
        }
        Objective::Weighted(_) => u128::MAX - limits.sum(planned),
    };
    (first, u128::from(finish::share(planned)))
}

/// Returns the part by which all execution times can grow where budgets are as large as PCPUs allow.
fn slack(system: &System, planned: &System, request: &Request<'_>) -> u64 {
    let (mut filled, open, weights) = (planned.clone(), Open::of(system), weights_of(planned));
    for pcpu in 0..filled.platform.value.cpus.len() {
        fill(&mut filled, &open, &weights, pcpu);
    }
    longer::slack_of(&filled, request)
}
