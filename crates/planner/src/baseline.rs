//! The allocations that vCache, section 6.2, compares with its own: bin packing of tasks, and one
//! of two ways to give them colours.

use std::cmp::Reverse;

use analysis::Duration;
use analysis::utilization::Share;
use policy::color::{Color, ColorSet};

use crate::demand::members;
use crate::published::cache_aware_vm::budget_of;
use crate::{Evaluator, Task};

/// The choice among the VCPUs into which a task fits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Packing {
    /// The one with the highest utilisation: best-fit decreasing (BFD).
    Best,
    /// The one with the lowest: worst-fit decreasing (WFD).
    Worst,
    /// The first one: first-fit decreasing (FFD).
    First,
}

/// The division of a VCPU's colours among its tasks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Coloring {
    /// Complete cache partitioning (CCP): each task has its own, in proportion to its
    /// working set.
    Partitioned,
    /// Complete cache sharing (CCS): each task has all.
    Shared,
}

/// A VCPU that is complete.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Packed {
    /// Indices of its tasks, ascending.
    pub tasks: Vec<usize>,
    /// Their colours, numbered from 0 in each VCPU.
    pub sets: Vec<ColorSet>,
    /// Its budget; 0 without tasks.
    pub budget: Duration,
}

/// Packs the tasks of a VM into VCPUs with this number of colours each. Returns `None` if a task
/// fits into no VCPU.
///
/// Tasks are packed in decreasing order of their utilisation with the fewest colours that a VCPU
/// has. A task fits if all tasks of the VCPU then meet their deadlines with the whole processor.
/// The paper leaves details open; these are as in its Algorithm 4.
pub fn pack(
    evaluator: &mut Evaluator,
    tasks: &[Task],
    colors: &[usize],
    period: Duration,
    packing: Packing,
    coloring: Coloring,
) -> Option<Vec<Packed>> {
    let fewest = colors.iter().copied().min().unwrap_or(0).max(1);
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&index| {
        Reverse(Share::down(tasks[index].wcet(fewest), tasks[index].period()))
    });
    let mut vcpus = vec![(Packed::default(), Share(0)); colors.len()];
    for index in order {
        let mut places: Vec<usize> = (0..vcpus.len()).collect();
        match packing {
            Packing::Best => places.sort_by_key(|&vcpu| Reverse(vcpus[vcpu].1)),
            Packing::Worst => places.sort_by_key(|&vcpu| vcpus[vcpu].1),
            Packing::First => (),
        }
        let (vcpu, filled) = places.into_iter().find_map(|vcpu| {
            let mut joined = vcpus[vcpu].0.tasks.clone();
            joined.push(index);
            joined.sort_unstable();
            let members = members(tasks, &joined);
            let sets = color(&members, colors[vcpu], coloring)?;
            let utilization = evaluator.utilization(&members, &sets);
            let fits =
                utilization <= Share::WHOLE && evaluator.fits(&members, &sets, period, period);
            let packed = Packed { tasks: joined, sets, budget: period };
            fits.then_some((vcpu, (packed, utilization)))
        })?;
        vcpus[vcpu] = filled;
    }
    let complete = vcpus.into_iter().map(|(mut packed, utilization)| {
        let members = members(tasks, &packed.tasks);
        let range = [budget_of(utilization, period), period];
        packed.budget = evaluator.least_budget(&members, &packed.sets, period, range)?;
        Some(packed)
    });
    complete.collect()
}

/// Divides `colors` among this number of VCPUs, so that the parts differ by at most 1.
pub fn evenly(colors: usize, vcpus: usize) -> Vec<usize> {
    (0..vcpus).map(|vcpu| colors / vcpus + usize::from(vcpu < colors % vcpus)).collect()
}

/// Returns the colours of each task; none if there are not enough.
fn color(tasks: &[&Task], colors: usize, coloring: Coloring) -> Option<Vec<ColorSet>> {
    match coloring {
        Coloring::Shared => (colors > 0).then(|| vec![ColorSet::first(colors as u32); tasks.len()]),
        Coloring::Partitioned => {
            let mut next = 0;
            let sets = proportional(tasks, colors)?.into_iter().map(|size| {
                let own = next..next + size;
                next += size;
                own.filter_map(|index| Color::new(index as u8)).collect()
            });
            Some(sets.collect())
        }
    }
}

/// Numbers of colours in proportion to working sets, at least 1 each: first 1 each, then
/// the next one always to the task that has most of its working set for each colour
/// (D'Hondt's method).
fn proportional(tasks: &[&Task], colors: usize) -> Option<Vec<usize>> {
    let mut sizes = vec![1; tasks.len()];
    let rest = colors.checked_sub(tasks.len())?;
    for _ in 0..rest {
        let density = |&index: &usize| {
            let working_set = u128::from(tasks[index].working_set().max(1));
            ((working_set << 32) / (sizes[index] as u128 + 1), Reverse(index))
        };
        let Some(next) = (0..tasks.len()).max_by_key(density) else { break };
        sizes[next] += 1;
    }
    Some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;
    use crate::tests::{ms, task};

    #[test]
    fn colors_are_even() {
        assert_eq!(evenly(19, 8), [3, 3, 3, 2, 2, 2, 2, 2]);
        assert_eq!(evenly(2, 4), [1, 1, 0, 0]);
    }

    #[test]
    fn partitions_follow_working_sets() {
        let with = |bytes| task(10, &[1]).with_working_set(bytes);
        let tasks = [with(1), with(4 << 20), with(2 << 20)];
        let tasks: Vec<&Task> = tasks.iter().collect();
        assert_eq!(proportional(&tasks, 10), Some(vec![1, 6, 3]));
        assert_eq!(proportional(&tasks, 2), None);
        let sets = color(&tasks, 5, Coloring::Partitioned).unwrap();
        assert_eq!(sets.iter().map(|set| set.bits()).collect::<Vec<_>>(), [1, 0b1110, 0b10000]);
    }

    #[test]
    fn each_packing_chooses_its_vcpu() {
        // Utilisations of 0.6, 0.5, 0.45 and 0.05.
        let tasks = [12, 10, 9, 1].map(|wcet| task(20, &[wcet]));
        let setting = Setting::new(6, ms(0)).unwrap();
        let packed = |packing| {
            let mut evaluator = Evaluator::new(setting);
            let packed = pack(&mut evaluator, &tasks, &[2; 3], ms(1), packing, Coloring::Shared);
            packed.unwrap().into_iter().map(|vcpu| vcpu.tasks).collect::<Vec<_>>()
        };
        assert_eq!(packed(Packing::First), [vec![0, 3], vec![1, 2], vec![]]);
        assert_eq!(packed(Packing::Best), [vec![0], vec![1, 2, 3], vec![]]);
        assert_eq!(packed(Packing::Worst), [vec![0], vec![1], vec![2, 3]]);
    }
}
