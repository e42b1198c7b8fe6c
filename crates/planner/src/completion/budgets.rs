//! Budgets, once it is known which VCPUs share a PCPU.
//!
//! While nothing is known about the others on its PCPU, the budget of a VCPU has to be enough if
//! it comes as late in each period as it can. Now it is known when it comes at the latest.

use analysis::Duration;
use system::description::System;
use system::plan::Budget;

use super::least::least;
use super::pcpus::{At, in_time, judge, order};
use super::problem::grain;
use super::set_class;

/// Returns the least budget of a VCPU without tasks: a hundredth of its period.
pub(super) fn without_tasks(period: Duration) -> Duration {
    Duration(period.0.div_ceil(100)).max(Budget::SHORTEST).min(period)
}

/// Returns the least budget that a plan gives to a VCPU with this period.
pub(super) fn least_of(system: &System, (vm, vcpu): At, period: Duration) -> Duration {
    let has_tasks = system.vms[vm].tasks.iter().any(|task| task.vcpu == vcpu);
    if has_tasks { Budget::SHORTEST } else { without_tasks(period) }
}

/// Makes these budgets at least as large as a plan gives them.
pub(super) fn raise(system: &mut System, open: &[At]) {
    let grain = grain(system).0.0.max(1);
    for &at in open {
        let Some(given) = budget(system, at) else { continue };
        let least = Duration(least_of(system, at, given.period).0.next_multiple_of(grain));
        let budget = given.budget.max(least).min(given.period);
        set_class(system, at, |class| class.with_budget(Budget { budget, ..given }));
    }
}

/// Makes the budgets of these VCPUs as small as the VCPUs above and below allow, the highest
/// priorities first: time that they do not need is left for VCPUs below.
pub(super) fn shrink(system: &mut System, open: &[At]) {
    let mut pcpus: Vec<u64> = open.iter().filter_map(|&at| pcpu(system, at)).collect();
    pcpus.sort_unstable();
    pcpus.dedup();
    for on in pcpus {
        let all = (0..system.vms.len())
            .flat_map(|vm| (0..system.vms[vm].vcpus.len()).map(move |vcpu| (vm, vcpu)));
        let mut members: Vec<At> = all
            .filter(|&at| pcpu(system, at) == Some(on) && budget(system, at).is_some())
            .collect();
        members.sort_by_key(|&at| order(system, at));
        let enough = |system: &System| {
            judge(system, &members).iter().map(|it| it.ok && in_time(it)).collect::<Vec<_>>()
        };
        let before = enough(system);
        // One that is late needs all that it has.
        let enough_for =
            |at: &At| members.iter().zip(&before).any(|(it, enough)| it == at && *enough);
        for &at in members.iter().filter(|at| open.contains(at) && enough_for(at)) {
            let Some(given) = budget(system, at) else { continue };
            let step = grain(system).0.0;
            // Counted from the least budget upwards.
            let most = given.budget.0.saturating_sub(Budget::SHORTEST.0) / step;
            let with = |steps: u64| {
                let budget = Duration(given.budget.0 - (most - steps) * step);
                let mut changed = system.clone();
                set_class(&mut changed, at, |class| class.with_budget(Budget { budget, ..given }));
                changed
            };
            let holds = |steps: u64| {
                let after = enough(&with(steps));
                after.iter().zip(&before).all(|(after, before)| *after || !before)
            };
            if let Some(steps) = least(most, holds, |_| true) {
                *system = with(steps);
            }
        }
    }
}

fn pcpu(system: &System, (vm, vcpu): At) -> Option<u64> {
    system.vms[vm].vcpus[vcpu].pcpu.as_ref().map(|pcpu| pcpu.value)
}

fn budget(system: &System, (vm, vcpu): At) -> Option<Budget> {
    system.vms[vm].vcpus[vcpu].server.as_ref()?.class.value.budget()
}
