//! The tasks of a large VM in groups. The search takes a group for one task, so that its effort
//! does not grow with the number of tasks; budgets are then found for the tasks themselves.

use analysis::overheads::Costs;
use analysis::utilization::Share;
use analysis::{Duration, LONGEST};

use crate::{Error, Task};

/// Most tasks that the search takes one by one; of more, it takes about as many groups.
const GROUPS: usize = 60;

/// Returns groups of tasks, the highest priority first, that neighbours in the order of priorities
/// form. `tasks` are in that order, and `pins` has the VCPU of each that is given: those of a group
/// are given to the same one, or to none. The groups need about the same; a task that needs as much
/// is alone.
pub(super) fn groups(tasks: &[Task], pins: &[Option<usize>]) -> Vec<Vec<usize>> {
    let count = tasks.len();
    if count <= GROUPS {
        return (0..count).map(|task| vec![task]).collect();
    }
    let share = |task: usize| Share::up(tasks[task].wcet(1), tasks[task].period()).0;
    let all = (0..count).map(share).fold(0, u128::saturating_add);
    // What a task needs, and that it is there, count alike: in parts of all tasks.
    let weight = |task: usize| share(task) / (all / PARTS).max(1) + PARTS / count as u128;
    let mut classes: Vec<Option<usize>> = pins.to_vec();
    classes.sort_unstable();
    classes.dedup();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for class in classes {
        let own: Vec<usize> = (0..count).filter(|task| pins[*task] == class).collect();
        // A group is what lies in one of some parts that are alike.
        let part = 2 * PARTS / GROUPS as u128;
        let (mut before, mut last) = (0, None);
        for task in own {
            let place = Some((before + weight(task) / 2) / part);
            before += weight(task);
            match groups.last_mut() {
                Some(group) if last == place => group.push(task),
                _ => groups.push(vec![task]),
            }
            last = place;
        }
    }
    groups.sort_by_key(|group| group[0]);
    groups
}

/// All weights together are twice this, about.
const PARTS: u128 = 1_000_000_000;

/// Returns a task that needs about as much as all of a group: it has the shortest period and
/// deadline of them, and executes in each period for their parts of it. `costs`: what each of
/// their jobs takes of the hypervisor.
pub(super) fn together(tasks: &[Task], group: &[usize], costs: Costs) -> Result<Task, Error> {
    let members = || group.iter().map(|&task| &tasks[task]);
    let period = members().map(Task::period).min().unwrap_or(Duration(1));
    let first = tasks[group[0]].with_colors(1);
    if group.len() == 1 {
        return Ok(tasks[group[0]].clone());
    }
    let most = |of: fn(&analysis::Task) -> Duration| {
        members().map(|task| of(task.with_colors(1))).max().unwrap_or_default()
    };
    let deadline = members().map(Task::deadline).min().unwrap_or(period).min(period);
    let base = analysis::Task::new(first.wcet(), period)?
        .with_deadline(deadline)?
        .with_jitter(most(analysis::Task::jitter))?
        .with_blocking(most(analysis::Task::blocking))?
        .with_suspension(most(analysis::Task::suspension))?;
    let part = |time: Duration, of: Duration| {
        (u128::from(time.0) * u128::from(period.0)).div_ceil(u128::from(of.0.max(1)))
    };
    // One job of the group releases one job.
    let releases = members().map(|task| part(costs.interrupt, task.period())).sum::<u128>();
    let releases = releases.saturating_sub(u128::from(costs.interrupt.0));
    let wcet = |colors: usize| {
        let times = members().map(|task| part(task.wcet(colors), task.period()));
        let sum = times.fold(releases, u128::saturating_add);
        Duration(u64::try_from(sum).unwrap_or(u64::MAX).clamp(1, LONGEST.0 - 1))
    };
    let colors = members().map(Task::colors).max().unwrap_or(1);
    Task::new(base, &(1..=colors).map(wcet).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::TASKS_MAX;

    fn task(period: u64, wcet: u64) -> Task {
        let base = analysis::Task::new(Duration(wcet), Duration(period)).expect("a task");
        Task::new(base, &[Duration(2 * wcet), Duration(wcet)]).expect("a task")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn every_task_is_in_one_group_and_groups_need_what_their_tasks_need(
            drawn in prop::collection::vec((1_000u64..1_000_000, 1u64..1_000), 1..600),
            vcpus in 1usize..9,
            pinned in any::<bool>(),
        ) {
            let mut drawn = drawn;
            drawn.sort_unstable();
            let tasks: Vec<Task> =
                drawn.iter().map(|&(period, part)| task(period, period * part / 100_000 + 1)).collect();
            let pin = |task: usize| (pinned && !task.is_multiple_of(3)).then_some(task % vcpus);
            let pins: Vec<_> = (0..tasks.len()).map(pin).collect();
            let groups = groups(&tasks, &pins);
            prop_assert!(groups.len() <= TASKS_MAX, "{}", groups.len());
            let mut all: Vec<usize> = groups.iter().flatten().copied().collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..tasks.len()).collect::<Vec<_>>());
            prop_assert!(groups.is_sorted_by_key(|group| group[0]));
            for group in &groups {
                prop_assert!(group.iter().all(|&task| pins[task] == pins[group[0]]));
                let one = together(&tasks, group, Costs::default()).expect("a task");
                for colors in [1, 2, 3] {
                    let share = |task: &Task| task.wcet(colors).0 as f64 / task.period().0 as f64;
                    let sum: f64 = group.iter().map(|&task| share(&tasks[task])).sum();
                    prop_assert!(share(&one) >= sum * 0.999_999);
                    let rounded = group.len() as f64 / one.period().0 as f64;
                    prop_assert!(share(&one) <= sum + rounded + 1e-9);
                }
            }
        }
    }
}
