//! Least needs of tasks that share all colours of their VM, quickly.

use crate::least_utilization::{NEVER, WHOLE};
use crate::{Mask, Setting, Task, indices};

/// Parts of a processor that tasks need, in units of [`WHOLE`], rounded down.
#[derive(Debug)]
pub struct Rates {
    /// The part that a task executes, by task and number of colours, from 1.
    executions: Vec<Vec<u64>>,
    /// The part for loading one colour again, by task.
    reloads: Vec<u64>,
}

impl Rates {
    /// Computes the parts of tasks, the one with the highest priority first.
    pub fn new(tasks: &[Task], setting: &Setting) -> Self {
        let part = |time: u64, task: &Task| {
            let part = u128::from(time) * u128::from(WHOLE) / u128::from(task.period().0.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        let executions =
            |task: &Task| (1..=setting.colors()).map(|k| part(task.wcet(k).0, task)).collect();
        Self {
            executions: tasks.iter().map(executions).collect(),
            reloads: tasks.iter().map(|task| part(setting.reload.0, task)).collect(),
        }
    }

    /// Returns a lower bound of what these tasks, of which there is one at least, need (vCache,
    /// Eq. 4) by the number of colours that all of them have; [`NEVER`] without colours.
    pub fn shares(&self, mask: Mask, colors: usize) -> Vec<u64> {
        let mut shares = vec![0u64; colors + 1];
        shares[0] = NEVER;
        let tasks = indices(mask);
        for &task in &tasks {
            let executions = self.executions[task].iter();
            for (share, part) in shares[1..].iter_mut().zip(executions) {
                *share = share.saturating_add(*part);
            }
        }
        // The task with the lowest priority evicts lines of no other.
        let above = tasks.split_last().map_or(&[][..], |(_, above)| above);
        let reloads = above.iter().fold(0u64, |sum, task| sum.saturating_add(self.reloads[*task]));
        for (colors, share) in shares.iter_mut().enumerate() {
            *share = share.saturating_add(reloads.saturating_mul(colors as u64)).min(NEVER);
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use analysis::Duration;
    use analysis::utilization::Share;
    use policy::color::ColorSet;
    use proptest::prelude::*;

    use super::*;
    use crate::Evaluator;

    proptest! {
        /// As the analysis says, rounded down.
        #[test]
        fn it_is_the_utilization(
            drawn in prop::collection::vec((1_000u64..1_000_000, 1u64..500, 1u64..500), 1..12),
            colors in 1usize..9,
            reload in 0u64..500,
        ) {
            let task = |&(period, one, more): &(u64, u64, u64)| {
                let base = analysis::Task::new(Duration(1), Duration(period)).expect("a task");
                Task::new(base, &[Duration(one + more), Duration(one)]).expect("a task")
            };
            let tasks: Vec<Task> = drawn.iter().map(task).collect();
            let setting = Setting::new(colors, Duration(reload)).expect("a setting");
            let rates = Rates::new(&tasks, &setting);
            let mask = crate::mask(&(0..tasks.len()).collect::<Vec<_>>());
            let shares = rates.shares(mask, colors);
            prop_assert_eq!(shares[0], NEVER);
            let all: Vec<&Task> = tasks.iter().collect();
            for (k, share) in shares.iter().enumerate().skip(1) {
                let sets = vec![ColorSet::first(k as u32); tasks.len()];
                let found = Evaluator::new(setting).utilization(&all, &sets);
                let units = (found.0 / (Share::WHOLE.0 / u128::from(WHOLE))) as u64;
                prop_assert!(*share <= units, "{} {}", share, units);
                let off = tasks.len() as u64 * (2 + k as u64);
                prop_assert!(*share + off >= units, "{} {}", share, units);
            }
        }
    }
}
