//! Algorithm 4: `BestFitWithCache`.

use std::cmp::Reverse;

use analysis::Duration;
use analysis::utilization::Share;

use super::cache_to_task::cache_to_task;
use crate::demand::members;
use crate::{Evaluator, Task};

/// A VCPU while tasks are allocated.
#[derive(Clone, Debug, Default)]
pub struct Open {
    /// Indices of its tasks, ascending: `Gamma_i`.
    pub tasks: Vec<usize>,
    /// Its colours: `S_i^v`.
    pub colors: usize,
    /// Utilisation of its tasks with them: `util(Gamma_i)`.
    pub utilization: Share,
}

/// Returns the VCPU that has the highest utilisation of those into which the bundle fits with the
/// fewest more colours, and how many these are; at most `remaining`.
pub fn best_fit_with_cache(
    evaluator: &mut Evaluator,
    tasks: &[Task],
    bundle: &[usize],
    vcpus: &[Open],
    remaining: usize,
    period: Duration,
) -> Option<(usize, Open)> {
    let mut order: Vec<usize> = (0..vcpus.len()).collect();
    order.sort_by_key(|&vcpu| Reverse(vcpus[vcpu].utilization));
    // Empty VCPUs with the same colours are all alike.
    let first_empty = order.iter().copied().find(|&vcpu| vcpus[vcpu].tasks.is_empty());
    for more in 0..=remaining {
        for &vcpu in &order {
            let open = &vcpus[vcpu];
            if open.tasks.is_empty() && Some(vcpu) != first_empty {
                continue;
            }
            let mut joined = [open.tasks.as_slice(), bundle].concat();
            joined.sort_unstable();
            let colors = open.colors + more;
            let members = members(tasks, &joined);
            if let Some(fits) = cache_to_task(evaluator, &members, colors, period)
                && fits.utilization <= Share::WHOLE
            {
                return Some((vcpu, Open { tasks: joined, colors, utilization: fits.utilization }));
            }
        }
    }
    None
}
