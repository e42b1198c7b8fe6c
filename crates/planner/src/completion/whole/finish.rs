//! The last steps for a candidate that holds: limits as large and budgets as small as possible.

use analysis::Duration;
use system::description::System;
use system::plan::Budget;

use super::super::budgets::least_of;
use super::super::least::least;
use super::super::memory::Limits;
use super::super::pcpus::{At, all, given, order, vcpu};
use super::super::problem::grain;
use super::super::set_class;
use super::judge::{Judge, WHOLE};
use super::open::Open;

/// Returns the system with limits as large as deadlines allow.
pub fn raise_limits(judge: &Judge<'_>, limits: Option<&Limits>, system: System) -> System {
    let Some(limits) = limits else { return system };
    let holds = |system: &System| judge.holds(system);
    // What a common rate does not allow, single ones may.
    limits.largest(&system, &holds).unwrap_or_else(|| limits.grown(&system, &holds))
}

/// Makes open budgets as small as deadlines allow, one after the other, those with the highest
/// priorities first.
pub fn shrink(judge: &Judge<'_>, open: &Open, mut system: System) -> System {
    let mut order_of: Vec<At> = open.budgets.clone();
    order_of.sort_by_key(|&at| (given(&system, at), order(&system, at)));
    let step = grain(&system).0.0.max(1);
    for at in order_of {
        let Some(budget) = budget(&system, at) else { continue };
        let most = budget.budget.0.saturating_sub(Budget::SHORTEST.0) / step;
        let with = |steps: u64| {
            let less = Duration(budget.budget.0 - (most - steps) * step);
            let mut changed = system.clone();
            set_class(&mut changed, at, |class| {
                class.with_budget(Budget { budget: less, ..budget })
            });
            changed
        };
        // From a whole PCPU down to less than that the hypervisor begins to take time.
        let floor = least_of(&system, at, budget.period).0;
        let floor = most.saturating_sub(budget.budget.0.saturating_sub(floor) / step);
        let holds = |steps: u64| steps >= floor && judge.holds(&with(steps));
        if let Some(steps) = least(most, holds, |_| true) {
            system = with(steps);
        }
    }
    system
}

/// Returns the share of all VCPUs, in millionths of a PCPU: all of it without a server.
pub fn share(system: &System) -> u64 {
    let share = |at: At| match vcpu(system, at).server {
        None => Some(Budget::WHOLE),
        Some(_) => Some(budget(system, at)?.share()),
    };
    let sum: u128 = all(system).into_iter().filter_map(share).sum();
    u64::try_from(sum / (Budget::WHOLE / u128::from(WHOLE))).unwrap_or(u64::MAX)
}

fn budget(system: &System, at: At) -> Option<Budget> {
    vcpu(system, at).server.as_ref()?.class.value.budget()
}
