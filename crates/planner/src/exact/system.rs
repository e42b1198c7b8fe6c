//! Whole systems: tasks to VCPUs, colours to tasks and VCPUs, budgets.
//!
//! Every set of tasks of a VM is given its least budget for every number of colours
//! ([`super::cache_to_task()`]); then dynamic programming over sets splits the tasks of a VM
//! into at most as many sets as it has VCPUs, and the colours of the machine among VMs.

use analysis::utilization::Share;

use super::{Limit, cache_to_task};
use crate::demand::members;
use crate::{Evaluator, Mask, Setting, Task, Vm, indices};

/// Most tasks of a VM.
pub const TASKS_MAX: usize = 10;

/// Returns the least sum of `C^v / T^v` of all VCPUs with `colors` colours in all; none if
/// deadlines are missed whatever the allocation. `steps` bounds the search. All VCPUs of a VM count
/// as its first one, with a budget to be found and no task pinned.
///
/// # Errors
///
/// The search was not complete after this number of steps, or a VM has more than [`TASKS_MAX`]
/// tasks.
pub fn least_total(
    vms: &[Vm],
    setting: &Setting,
    colors: usize,
    mut steps: u64,
) -> Result<Option<Share>, Limit> {
    let mut evaluator = Evaluator::new(*setting);
    let mut totals = vec![Some(Share(0)); colors + 1];
    for vm in vms {
        let own = vm_totals(&mut evaluator, vm, colors, &mut steps)?;
        totals = join(&totals, &own);
    }
    Ok(totals[colors])
}

/// Returns the least needs of a VM, by number of colours.
fn vm_totals(
    evaluator: &mut Evaluator,
    vm: &Vm,
    colors: usize,
    steps: &mut u64,
) -> Result<Vec<Option<Share>>, Limit> {
    let (tasks, period) = (vm.tasks(), vm.vcpus()[0].period);
    if tasks.len() > TASKS_MAX {
        return Err(Limit);
    }
    let sets = 1_usize << tasks.len();
    let mut alone = vec![vec![None; colors + 1]; sets];
    for (set, shares) in alone.iter_mut().enumerate().skip(1) {
        let tasks: Vec<&Task> = members(tasks, &indices(set as Mask));
        for (k, share) in shares.iter_mut().enumerate().skip(1) {
            let point = cache_to_task(evaluator, &tasks, k, period, steps)?;
            *share = point.map(|point| Share::up(point.budget, period));
        }
    }
    // By set of tasks and number of colours, with the VCPUs so far.
    let mut best = vec![vec![None; colors + 1]; sets];
    best[0] = vec![Some(Share(0)); colors + 1];
    for _ in vm.vcpus() {
        let before = best.clone();
        for (set, best) in best.iter_mut().enumerate().skip(1) {
            // The VCPU that has the first task, with any of the others.
            let first = set & set.wrapping_neg();
            let mut own = set;
            while own != 0 {
                if own & first != 0 {
                    for (best, with) in best.iter_mut().zip(join(&before[set & !own], &alone[own]))
                    {
                        *best = least(*best, with);
                    }
                }
                own = (own - 1) & set;
            }
        }
    }
    Ok(best.pop().unwrap_or_default())
}

/// Returns the needs of two VMs together, by number of their colours together.
fn join(one: &[Option<Share>], other: &[Option<Share>]) -> Vec<Option<Share>> {
    let best = |k: usize| {
        let sums = (0..=k).filter_map(|own| Some(one[k - own]? + other[own]?));
        sums.min()
    };
    (0..one.len()).map(best).collect()
}

fn least(one: Option<Share>, other: Option<Share>) -> Option<Share> {
    [one, other].into_iter().flatten().min()
}
