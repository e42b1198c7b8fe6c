//! The periodic resource model (Shin and Lee, "Periodic resource model for compositional real-time
//! guarantees", RTSS 2003), as CARTS and RT-Xen use it: a component gets a budget in each period, in
//! the worst case at the start of one and at the end of all others.

use analysis::Duration;
use planner::Task;

/// Budgets are multiples of this, in nanoseconds.
const GRAIN: u64 = 1_000;

/// Returns the least budget with which tasks, the highest priority first, meet their deadlines
/// under fixed priorities; `None` if the whole period is not enough.
pub fn least_budget(tasks: &[&Task], period: Duration) -> Option<Duration> {
    if tasks.is_empty() {
        return Some(Duration(0));
    }
    let enough = |grains: u64| schedulable(tasks, (grains * GRAIN).min(period.0), period.0);
    let most = period.0.div_ceil(GRAIN);
    let (mut no, mut yes) = (0, most);
    if !enough(yes) {
        return None;
    }
    while yes - no > 1 {
        let middle = u64::midpoint(no, yes);
        if enough(middle) { yes = middle } else { no = middle }
    }
    Some(Duration((yes * GRAIN).min(period.0)))
}

/// Returns true if Theorem 4.2 for fixed priorities holds: for each task there is a time up to its deadline at which the
/// resource has supplied what the task and those above request until then.
fn schedulable(tasks: &[&Task], budget: u64, period: u64) -> bool {
    (0..tasks.len()).all(|index| {
        let deadline = tasks[index].deadline().0;
        let requested = |time: u64| {
            let above = tasks[..index].iter();
            let above = above.map(|task| time.div_ceil(task.period().0) * task.wcet(1).0);
            tasks[index].wcet(1).0 + above.sum::<u64>()
        };
        // Requests are constant between these times, supply grows.
        let ends = tasks[..index].iter().flat_map(|task| {
            let period = task.period().0;
            (1..=deadline / period).map(move |job| job * period)
        });
        ends.chain([deadline]).any(|time| requested(time) <= supply(budget, period, time))
    })
}

/// The supply bound function of a periodic resource (Eq. 6): nothing for `2 (period - budget)`.
fn supply(budget: u64, period: u64, time: u64) -> u64 {
    let gap = period - budget;
    let Some(after) = time.checked_sub(gap) else { return 0 };
    let (whole, rest) = (after / period, after % period);
    whole * budget + rest.saturating_sub(gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supply_is_that_of_figure_3() {
        // A budget of 3 in each period of 5.
        let supplied: Vec<u64> = (0..=14).map(|time| supply(3, 5, time)).collect();
        assert_eq!(supplied, [0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 6, 6]);
        assert_eq!(supply(5, 5, 7), 7);
    }

    #[test]
    fn a_budget_is_the_least() {
        let ms = |ms: u64| Duration(ms * 1_000_000);
        let task = |wcet: u64, period: u64| {
            let task = analysis::Task::new(ms(wcet), ms(period)).expect("a task");
            Task::new(task, &[ms(wcet)]).expect("a task")
        };
        let tasks = [task(2, 20), task(9, 50)];
        let members: Vec<&Task> = tasks.iter().collect();
        let least = least_budget(&members, ms(5)).expect("there is one");
        assert!(schedulable(&members, least.0, 5_000_000));
        assert!(!schedulable(&members, least.0 - GRAIN, 5_000_000));
        assert_eq!(least_budget(&[&task(21, 20), &task(2, 20)], ms(5)), None);
    }
}
