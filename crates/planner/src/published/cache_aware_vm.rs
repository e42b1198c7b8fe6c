//! Algorithm 2: `CacheAwareVM` (CAVM).

use std::cmp::Reverse;

use analysis::Duration;
use analysis::utilization::Share;

use super::best_fit_with_cache::{Open, best_fit_with_cache};
use super::break_bundle::{break_bundle, utilization};
use super::cache_to_task::cache_to_task;
use crate::demand::{Vcpu, members};
use crate::{Demand, Evaluator, Point, Task};

/// Allocates the tasks of a VM to its VCPUs, and finds what each needs with 1, 2, ...
/// `colors`. VCPUs without tasks are left out. None if some bundle fits nowhere.
///
/// The tasks are in the order of their priorities, the highest first. All VCPUs have this
/// period.
pub fn cache_aware_vm(
    evaluator: &mut Evaluator,
    tasks: &[Task],
    vcpus: usize,
    colors: usize,
    period: Duration,
) -> Option<Vec<Vcpu>> {
    let allocated = allocate(evaluator, tasks, vcpus, colors, period)?;
    let design = |members: Vec<usize>| {
        let demand = demand(evaluator, tasks, &members, colors, period);
        Vcpu { tasks: members, demand }
    };
    Some(allocated.into_iter().map(design).collect())
}

/// Phase 1: returns the tasks of each VCPU with tasks.
///
/// As printed, line 28 also fails when no bundle is left; here it fails only when the bundles that
/// are left are single tasks. A single task that does not fit a VCPU with one colour stays a
/// bundle, and may fit with more.
pub fn allocate(
    evaluator: &mut Evaluator,
    tasks: &[Task],
    vcpus: usize,
    colors: usize,
    period: Duration,
) -> Option<Vec<Vec<usize>>> {
    let mut open = vec![Open::default(); vcpus];
    let mut remaining = colors;
    let mut bundles = Vec::new();
    let mut rest: Vec<usize> = (0..tasks.len()).collect();
    while rest.len() > 1 && utilization(tasks, &rest) > Share::WHOLE {
        let (first, others) = break_bundle(tasks, &rest, Share::WHOLE, colors);
        bundles.push(first);
        rest = others;
    }
    if !rest.is_empty() {
        bundles.push(rest);
    }
    while !bundles.is_empty() {
        bundles.sort_by_key(|bundle| Reverse(average_utilization(tasks, bundle, colors)));
        let mut unallocated = Vec::new();
        for bundle in bundles.drain(..) {
            let fit = best_fit_with_cache(evaluator, tasks, &bundle, &open, remaining, period);
            match fit {
                Some((vcpu, filled)) => {
                    remaining -= filled.colors - open[vcpu].colors;
                    open[vcpu] = filled;
                }
                None => unallocated.push(bundle),
            }
        }
        if !unallocated.is_empty() && unallocated.iter().all(|bundle| bundle.len() == 1) {
            return None;
        }
        let least = open.iter().map(|vcpu| vcpu.utilization).min().unwrap_or(Share::WHOLE);
        let size = Share(Share::WHOLE.0.saturating_sub(least.0));
        for bundle in unallocated {
            if bundle.len() == 1 {
                bundles.push(bundle);
                continue;
            }
            let (first, second) = break_bundle(tasks, &bundle, size, colors);
            bundles.extend([first, second]);
        }
    }
    Some(open.into_iter().map(|vcpu| vcpu.tasks).filter(|tasks| !tasks.is_empty()).collect())
}

/// `sum over j, k of (C_j(k) / T_j) / N_cache`, times `N_cache`: the order is the same.
fn average_utilization(tasks: &[Task], bundle: &[usize], colors: usize) -> Share {
    let of_task = |&index: &usize| {
        let task = &tasks[index];
        (1..=colors).map(|k| Share::up(task.wcet(k), task.period())).sum::<Share>()
    };
    bundle.iter().map(of_task).sum()
}

/// Phase 2: returns the demand of a VCPU with these tasks for 1, 2, ... `colors`.
pub fn demand(
    evaluator: &mut Evaluator,
    tasks: &[Task],
    indices: &[usize],
    colors: usize,
    period: Duration,
) -> Demand {
    let members = members(tasks, indices);
    let mut point = |k: usize| {
        let allocated = cache_to_task(evaluator, &members, k, period)?;
        if allocated.utilization > Share::WHOLE {
            return None;
        }
        let least = budget_of(allocated.utilization, period);
        let budget = evaluator.least_budget(&members, &allocated.sets, period, [least, period])?;
        Some(Point { budget, sets: allocated.sets })
    };
    Demand::new(period, (1..=colors).map(&mut point).collect())
}

/// Returns the budget that is this part of a period, rounded down: no budget below it is enough.
pub(crate) fn budget_of(share: Share, period: Duration) -> Duration {
    // Rounded up by at most 10^-18 for each task: less than a nanosecond, taken off again.
    let budget = share.0.saturating_mul(period.0.into()) / Share::WHOLE.0;
    Duration(u64::try_from(budget).unwrap_or(u64::MAX).saturating_sub(1))
}
