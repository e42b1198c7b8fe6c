//! Algorithm 3: `BreakBundle`.

use analysis::Duration;
use analysis::utilization::Share;

use crate::Task;

/// Breaks a bundle of task indices into two: tasks leave it in increasing order of cache
/// sensitivity, `(C(1) - C(N_cache)) / T`, until the utilisation of the rest, with a
/// colour for each task, is at most `size`.
///
/// As printed, the rest can be empty, for a task that does not fit alone or a `size` near 0, and
/// then CAVM never ends. Here the last task stays.
pub fn break_bundle(
    tasks: &[Task],
    bundle: &[usize],
    size: Share,
    colors: usize,
) -> (Vec<usize>, Vec<usize>) {
    let sensitivity = |&index: &usize| {
        let task = &tasks[index];
        let gain = Duration(task.wcet(1).0 - task.wcet(colors).0);
        Share::down(gain, task.period())
    };
    let mut order = bundle.to_vec();
    order.sort_by_key(sensitivity);
    let mut left = 0;
    while left + 1 < order.len() {
        left += 1;
        if utilization(tasks, &order[left..]) <= size {
            break;
        }
    }
    let mut rest = order.split_off(left);
    rest.sort_unstable();
    order.sort_unstable();
    (rest, order)
}

/// Returns the utilisation of a bundle with a colour for each task, without sharing.
pub(super) fn utilization(tasks: &[Task], bundle: &[usize]) -> Share {
    bundle.iter().map(|&index| Share::up(tasks[index].wcet(1), tasks[index].period())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::task;

    #[test]
    fn sensitive_tasks_stay_together() {
        // Gains of 0.1, 0.4, 0.0 and 0.3; utilisations of 0.4, 0.5, 0.3 and 0.4.
        let tasks = [task(10, &[4, 3]), task(10, &[5, 1]), task(10, &[3, 3]), task(10, &[4, 1])];
        let broken = break_bundle(&tasks, &[0, 1, 2, 3], Share::WHOLE, 2);
        assert_eq!(broken, (vec![1, 3], vec![0, 2]));
    }

    #[test]
    fn one_task_stays_however_large_it_is() {
        let tasks = [task(10, &[12, 1]), task(10, &[5, 5])];
        let broken = break_bundle(&tasks, &[0, 1], Share(0), 2);
        assert_eq!(broken, (vec![0], vec![1]));
        assert_eq!(break_bundle(&tasks, &[0], Share(0), 2), (vec![0], vec![]));
    }
}
