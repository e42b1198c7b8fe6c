//! The analysis of XenThrottle as published (Wei Jing, thesis, chapter 3).
//!
//! - Eq. 3.1: [`delay_while_running`]; Eq. 3.2: [`wcet`].
//! - Eq. 3.3 is that of any fixed-priority analysis ([`mod@crate::response`]); Algorithm 1, which
//!   joins both: [`response_time`].
//! - Eq. 3.4: [`slack`]; Eq. 3.5: [`Staircase`]; Algorithm 2: [`budget`].
//!
//! Eq. 3.1 and 3.2 count accesses and Eq. 3.5 counts time: here everything is time. Eq. 3.7, from
//! which the text computes the budget, has one step fewer than Eq. 3.5 where `P` divides `D - QL`;
//! Algorithm 2 says `S`, and so Eq. 3.5 is used.
//!
//! Two things make a response time of Algorithm 1 too short on a real machine. Budgets are assumed
//! to hold exactly. But an access at the end of a period delays others after it, so that a window
//! can contain more than `S(t)`, and a regulator that stops late allows more accesses
//! ([`crate::memory::Curve`]). And tasks have no jitter, no blocking and a processor of their own.

use crate::Duration;
use crate::memory::Staircase;

/// A critical task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Task {
    /// Worst-case execution time without interference: `C`.
    pub wcet: Duration,
    /// Least time between two releases: `T`; more than 0.
    pub period: Duration,
    /// Deadline: `D`, at most the period.
    pub deadline: Duration,
    /// The most memory accesses of a job: `A`.
    pub accesses: u64,
}

/// The limit of iterations: longer times are not useful as bounds.
const LONGEST: u64 = crate::LONGEST.0;

/// Returns the time by which one interfering core lengthens an execution, if it makes accesses all
/// the time (Eq. 3.1): the least `x` with `x = S(C + x)`; `None` if there is none.
pub fn delay_while_running(wcet: Duration, curve: &Staircase) -> Option<Duration> {
    let time = fixed_point(wcet, LONGEST, |time| wcet.0 + curve.at(Duration(time)).0)?;
    Some(Duration(time.0 - wcet.0))
}

/// Returns the execution time of a task beside interfering cores (Eq. 3.2); none if there is no
/// bound.
pub fn wcet(task: &Task, curves: &[Staircase], latency: Duration) -> Option<Duration> {
    fixed_point(task.wcet, LONGEST, |time| {
        let delay = interference(task.accesses, curves, latency, time);
        task.wcet.0.saturating_add(delay)
    })
}

/// Returns the response time of the last one of these tasks, the one with the highest priority
/// first (Algorithm 1); none if it misses its deadline.
pub fn response_time(tasks: &[Task], curves: &[Staircase], latency: Duration) -> Option<Duration> {
    let (task, above) = tasks.split_last()?;
    fixed_point(task.wcet, task.deadline.0.min(LONGEST), |time| {
        let sum = |of: fn(&Task) -> u64| {
            let each = |task: &Task| of(task).saturating_mul(time.div_ceil(task.period.0.max(1)));
            above.iter().map(each).fold(of(task), u64::saturating_add)
        };
        let delay = interference(sum(|task| task.accesses), curves, latency, time);
        sum(|task| task.wcet.0).saturating_add(delay)
    })
}

/// Returns the time that remains for interference until the deadline of the last one of these tasks
/// (Eq. 3.4); `None` if it is negative.
pub fn slack(tasks: &[Task]) -> Option<Duration> {
    let (task, above) = tasks.split_last()?;
    let deadline = task.deadline.0;
    let taken = |it: &Task| it.wcet.0.saturating_mul(deadline.div_ceil(it.period.0.max(1)));
    let taken = above.iter().map(taken).fold(task.wcet.0, u64::saturating_add);
    deadline.checked_sub(taken).map(Duration)
}

/// Returns the budget that one interfering core may have in each period so that the last one of
/// these tasks is in time (Algorithm 2), in accesses; it is found by bisection, to within
/// `tolerance` accesses, and neither rounded nor a bound. None without slack.
pub fn budget(tasks: &[Task], period: Duration, latency: Duration, tolerance: f64) -> Option<f64> {
    let (slack, deadline) = (slack(tasks)?.0 as f64, tasks.last()?.deadline.0 as f64);
    let period = period.0 as f64;
    let curve = |step: f64| {
        let rest = deadline - step;
        step + (rest / period).floor() * step + rest.rem_euclid(period).min(step)
    };
    let (mut low, mut high) = (0.0, period);
    while (high - low) / latency.0 as f64 > tolerance {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if curve(middle) < slack { low = middle } else { high = middle }
    }
    Some(low / latency.0 as f64)
}

/// Returns the same for all of these tasks: the least of their budgets (section 3.3).
pub fn budget_of_all(
    tasks: &[Task],
    period: Duration,
    latency: Duration,
    tolerance: f64,
) -> Option<f64> {
    let down_to = (1..=tasks.len()).map(|count| &tasks[..count]);
    let each = down_to.map(|tasks| budget(tasks, period, latency, tolerance));
    each.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::min)
}

/// `sum over k of min(A, S_k(t))`, as time.
fn interference(accesses: u64, curves: &[Staircase], latency: Duration, time: u64) -> u64 {
    let own = accesses.saturating_mul(latency.0);
    curves.iter().map(|curve| curve.at(Duration(time)).0.min(own)).fold(0, u64::saturating_add)
}

/// Iterates from `start` to the fixed point; `None` above `limit`.
fn fixed_point(start: Duration, limit: u64, next: impl Fn(u64) -> u64) -> Option<Duration> {
    let mut time = start.0;
    while time <= limit {
        match next(time) {
            same if same == time => return Some(Duration(time)),
            longer => time = longer,
        }
    }
    None
}
