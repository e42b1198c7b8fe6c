//! The windows that lead to a bound: for each job of the longest busy window the shortest one in
//! which the supply meets the demand.
//!
//! The equations are those of `base`, `windows_ok` and `class_ok` in `proofs/Certificate.v`, under
//! the same names.

use std::ops::RangeInclusive;

use policy::server::kind::Kind;

use crate::{Interferer, Lack, Limit, Place, Server, Task, Vcpu};

/// Maximum number of windows of one task.
pub const JOBS_MAX: usize = 10_000;

/// Maximum number of steps of one search.
const STEPS_MAX: usize = 100_000;

/// A stream of recurring demand: period, jitter and cost.
type Stream = (u64, u64, u128);

/// Returns the windows of a task. `known`: bounds of tasks above that have certificates.
pub fn windows(vcpu: &Vcpu, index: usize, known: &[Option<u64>]) -> Result<Vec<u64>, Lack> {
    let task = &vcpu.tasks[index];
    let response = task.bound.clone()?;
    check_class(vcpu, index)?;
    let streams = streams(vcpu, index, known)?;
    let own = u128::from(task.wcet) + u128::from(task.suspension);
    // A task that suspends itself is held off each time that it continues.
    let own = own + if task.suspension > 0 { u128::from(task.blocking) } else { 0 };
    let not_confirmed = || Lack::NotConfirmed(response);
    let mut windows = Vec::new();
    let mut window = 1;
    for job in 0..JOBS_MAX as u128 {
        let demand = |window| {
            let memory = memory(vcpu, index, job, window);
            base(vcpu, index, &streams, window).saturating_add(memory) + (job + 1) * own
        };
        window = (0..STEPS_MAX)
            .try_fold(window, |window, _| {
                let next = needed(vcpu, demand(window)).max(1);
                if next <= window { Err(window) } else { Ok(next) }
            })
            .err()
            .ok_or_else(not_confirmed)?;
        let until = window + u128::from(task.jitter);
        if until > u128::from(response) + job * u128::from(task.period) {
            return Err(not_confirmed());
        }
        windows.push(u64::try_from(window).map_err(|_| not_confirmed())?);
        if until <= (job + 1) * u128::from(task.period) {
            return Ok(windows);
        }
    }
    Err(Lack::TooManyJobs)
}

/// Returns the tasks with the priority of this one.
fn equals(vcpu: &Vcpu, index: usize) -> RangeInclusive<usize> {
    let tied = |task: &&Task| task.tied;
    let before = vcpu.tasks[..index].iter().rev().take_while(tied).count();
    let after = vcpu.tasks[index..].iter().take_while(tied).count();
    index - before..=(index + after).min(vcpu.tasks.len().saturating_sub(1))
}

fn check_class(vcpu: &Vcpu, index: usize) -> Result<(), Lack> {
    let task = &vcpu.tasks[index];
    let equals = equals(vcpu, index);
    let longer = |it: &Task| it.blocking > task.blocking;
    let sleeps = |it: &Task| it.suspension > 0;
    if vcpu.place == Place::Background {
        if equals.start() != equals.end() {
            return Err(Lack::SamePriority);
        } else if !vcpu.interferers.is_empty() {
            return Err(Lack::Memory);
        }
        return if vcpu.tasks[..index].iter().any(longer) { Err(Lack::Blocking) } else { Ok(()) };
    }
    let tie = &vcpu.tasks[equals];
    let mut lines = 0;
    for task in tie {
        if task.colors & lines != 0 {
            return Err(Lack::SameLines);
        }
        lines |= task.colors;
    }
    let waits = !vcpu.interferers.is_empty();
    if tie.iter().any(longer) {
        Err(Lack::SameBlocking)
    } else if waits && (sleeps(task) || others(vcpu, index).any(|(_, other, _)| sleeps(other))) {
        Err(Lack::Memory)
    } else if let Place::Served { own: Server { kind: Kind::Sporadic, .. }, .. } = vcpu.place
        && sleeps(task)
    {
        Err(Lack::SleepsOnSporadic)
    } else {
        Ok(())
    }
}

/// Returns the tasks that count as above this one, the lowest first: also those with its priority. With each comes
/// the number of its colours that tasks below it have, too.
fn others(vcpu: &Vcpu, index: usize) -> impl Iterator<Item = (usize, &Task, u32)> {
    let down_to = *equals(vcpu, index).end();
    let mut evicted = 0;
    let all = vcpu.tasks.iter().enumerate().take(down_to + 1).rev().map(move |(other, task)| {
        let common = (task.colors & evicted).count_ones();
        evicted |= task.colors;
        (other, task, common)
    });
    all.filter(move |(other, ..)| *other != index)
}

/// Returns the demand of the other tasks that count.
fn streams(vcpu: &Vcpu, index: usize, known: &[Option<u64>]) -> Result<Vec<Stream>, Lack> {
    let mut streams = Vec::with_capacity(index);
    for (other, task, common) in others(vcpu, index) {
        let delay = u128::from(common) * u128::from(vcpu.reload);
        let jitter = match (task.suspension, known.get(other).copied().flatten()) {
            (0, _) => task.jitter,
            (_, Some(bound)) if task.wcet <= bound && task.wcet <= task.period => bound - task.wcet,
            _ => return Err(Lack::Depends(task.name.clone())),
        };
        if task.suspension > 0 && delay > 0 {
            return Err(Lack::EvictsAgain(task.name.clone()));
        }
        streams.push((task.period, jitter, u128::from(task.wcet) + delay));
    }
    Ok(streams)
}

fn one_stream(window: u128, period: u64, jitter: u64, cost: u128) -> u128 {
    (window + u128::from(jitter)).div_ceil(u128::from(period)).saturating_mul(cost)
}

/// Returns the time that a server takes from those below.
fn takes(server: &Server, window: u128) -> u128 {
    let jitter = match server.kind {
        Kind::Deferrable => server.period.saturating_sub(server.counted),
        Kind::Periodic | Kind::Sporadic => 0,
    };
    one_stream(window, server.period, jitter, server.counted.into())
}

/// Returns the demand that does not depend on the number of own jobs.
fn base(vcpu: &Vcpu, index: usize, streams: &[Stream], window: u128) -> u128 {
    let above =
        streams.iter().map(|&(period, jitter, cost)| one_stream(window, period, jitter, cost));
    let events =
        vcpu.sources.iter().map(|it| one_stream(window, it.spacing, it.early, it.cost.into()));
    let servers = || vcpu.above.iter().map(|server| takes(server, window)).sum::<u128>();
    let rest = match vcpu.place {
        Place::Background => u128::from(vcpu.late) + servers(),
        _ => 0,
    };
    let task = &vcpu.tasks[index];
    let blocking = if task.suspension > 0 { 0 } else { u128::from(task.blocking) };
    above.sum::<u128>() + events.sum::<u128>() + u128::from(vcpu.once) + rest + blocking
}

/// Returns how long jobs wait for memory in a window with `job + 1` jobs of the task.
fn memory(vcpu: &Vcpu, index: usize, job: u128, window: u128) -> u128 {
    if vcpu.interferers.is_empty() {
        return 0;
    }
    let accesses = accesses(vcpu, index, job, window);
    let staircase = |&Limit { step, span, after, credit }: &Limit| {
        let step = u128::from(step.min(span));
        let rest = (window + u128::from(after)).saturating_sub(step);
        let (whole, last) = (rest / u128::from(span.max(1)), rest % u128::from(span.max(1)));
        (step + whole * step + step.min(last) + u128::from(credit)).min(window)
    };
    let wait = |Interferer { wait, limits }: &Interferer| {
        let own = accesses.map(|it| it.saturating_mul((*wait).into()));
        let limit = limits.as_ref().map(|limits| limits.iter().map(staircase).sum());
        // Without both the analysis has no bound.
        own.into_iter().chain(limit).min().unwrap_or(u128::from(u64::MAX))
    };
    vcpu.interferers.iter().map(wait).fold(0, u128::saturating_add)
}

/// Returns the accesses of a window with `job + 1` jobs of the task, if they are known.
fn accesses(vcpu: &Vcpu, index: usize, job: u128, window: u128) -> Option<u128> {
    let of = |task: &Task| task.accesses.map(u128::from);
    let task = &vcpu.tasks[index];
    let below = match task.blocking {
        0 => &[],
        _ => &vcpu.tasks[equals(vcpu, index).end() + 1..],
    };
    let below: u128 = below.iter().map(of).sum::<Option<_>>()?;
    let above = others(vcpu, index).map(|(_, task, common)| {
        let each = of(task)? + u128::from(common) * u128::from(vcpu.reloads_of_color);
        Some(one_stream(window, task.period, task.jitter, each))
    });
    let above: u128 = above.sum::<Option<_>>()?;
    Some(above + below + (job + 1) * of(task)? + u128::from(vcpu.on_way))
}

/// Returns the length of the shortest window in which the VCPU is guaranteed this time.
fn needed(vcpu: &Vcpu, demand: u128) -> u128 {
    match vcpu.place {
        Place::Served { own, response } | Place::Promised { own, response } => {
            let gap = u128::from(own.period.saturating_sub(own.budget));
            let late = u128::from(response.saturating_sub(own.budget));
            demand + demand.div_ceil(u128::from(own.budget.max(1))) * gap + late
        }
        Place::Whole | Place::Background | Place::Nothing => demand,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(wcet: u64, period: u64, bound: u64) -> Task {
        Task { wcet, ..Task::new("t", period, Ok(bound)) }
    }

    /// Lehoczky, RTSS 1990: the response times of the second task are 114, 102, 116, 104, 118, 106
    /// and 94.
    #[test]
    fn each_job_of_a_busy_window_has_a_window() {
        let tasks = vec![task(26, 70, 26), task(62, 100, 118)];
        let vcpu = Vcpu { tasks, ..Vcpu::new("vm", 0, Place::Whole) };
        let expected: Vec<u64> = [114, 102, 116, 104, 118, 106, 94]
            .iter()
            .zip(0..)
            .map(|(it, q)| it + 100 * q)
            .collect();
        assert_eq!(windows(&vcpu, 1, &[Some(26)]), Ok(expected));
    }

    #[test]
    fn a_bound_that_is_too_short_is_not_confirmed() {
        let tasks = vec![task(26, 70, 26), task(62, 100, 117)];
        let vcpu = Vcpu { tasks, ..Vcpu::new("vm", 0, Place::Whole) };
        assert_eq!(windows(&vcpu, 1, &[Some(26)]), Err(Lack::NotConfirmed(117)));
    }

    #[test]
    fn a_server_supplies_as_late_as_it_can() {
        let own = Server { kind: Kind::Periodic, budget: 3, counted: 3, period: 5 };
        let place = Place::Served { own, response: 4 };
        let vcpu = Vcpu { tasks: vec![task(4, 50, 9)], ..Vcpu::new("vm", 0, place) };
        // Twice 2 without budget, and 1 late.
        assert_eq!(windows(&vcpu, 0, &[]), Ok(vec![9]));
    }

    /// The first of three tasks, of which the last two have the same priority.
    fn with_equals() -> Vec<Task> {
        let tied = Task { tied: true, ..task(3, 20, 6) };
        vec![task(1, 10, 1), tied, task(2, 20, 6)]
    }

    #[test]
    fn tasks_with_the_same_priority_count_as_above_each_other() {
        let vcpu = Vcpu { tasks: with_equals(), ..Vcpu::new("vm", 0, Place::Whole) };
        for index in [1, 2] {
            assert_eq!(windows(&vcpu, index, &[Some(1)]), Ok(vec![6]));
        }
        let asked = |change: fn(&mut Vec<Task>)| {
            let mut tasks = with_equals();
            change(&mut tasks);
            windows(&Vcpu { tasks, ..Vcpu::new("vm", 0, Place::Whole) }, 1, &[Some(1)])
        };
        let lines = asked(|tasks| tasks[1..].iter_mut().for_each(|it| it.colors = 1));
        assert_eq!(lines, Err(Lack::SameLines));
        assert_eq!(asked(|tasks| tasks[2].blocking = 1), Err(Lack::SameBlocking));
        let background = Vcpu { tasks: with_equals(), ..Vcpu::new("vm", 0, Place::Background) };
        assert_eq!(windows(&background, 1, &[Some(1)]), Err(Lack::SamePriority));
    }

    #[test]
    fn tasks_that_suspend_themselves_are_held_off_each_time() {
        let asleep = Task { suspension: 1, blocking: 1, ..task(2, 10, 4) };
        let vcpu = Vcpu { tasks: vec![asleep, task(3, 20, 5)], ..Vcpu::new("vm", 0, Place::Whole) };
        assert_eq!(windows(&vcpu, 0, &[]), Ok(vec![4]));
        assert_eq!(windows(&vcpu, 1, &[Some(4)]), Ok(vec![5]));
        let background = Vcpu { place: Place::Background, ..vcpu };
        assert_eq!(windows(&background, 0, &[]), Ok(vec![4]));
        assert_eq!(windows(&background, 1, &[Some(4)]), Err(Lack::Blocking));
    }

    #[test]
    fn jobs_wait_for_memory() {
        let with = |interferers: Vec<Interferer>, bound| {
            let mut tasks = vec![task(2, 10, 4), task(3, 20, bound)];
            for task in &mut tasks {
                task.accesses = Some(1);
            }
            let vcpu = Vcpu { tasks, interferers, ..Vcpu::new("vm", 0, Place::Whole) };
            windows(&vcpu, 1, &[Some(4)])
        };
        // Two accesses, for 2 each; a limit of 1 in each period of 4, and 1 once.
        let interferer = |limits| Interferer { wait: 2, limits };
        assert_eq!(with(vec![interferer(None)], 9), Ok(vec![9]));
        let limit = Limit { step: 1, span: 4, after: 0, credit: 1 };
        assert_eq!(with(vec![interferer(Some(vec![limit]))], 9), Ok(vec![9]));
        let less = Limit { span: 40, ..limit };
        assert_eq!(with(vec![interferer(Some(vec![less]))], 8), Ok(vec![8]));
    }

    #[test]
    fn classes_without_theorem_have_reasons() {
        let own = Server { kind: Kind::Sporadic, budget: 3, counted: 3, period: 5 };
        let place = Place::Served { own, response: 3 };
        let asleep = Task { suspension: 1, ..task(1, 50, 20) };
        let vcpu = |tasks| Vcpu { tasks, reload: 1, ..Vcpu::new("vm", 0, place) };
        let of = |tasks: Vec<Task>, known: &[Option<u64>]| {
            let last = tasks.len() - 1;
            windows(&vcpu(tasks), last, known)
        };
        assert_eq!(of(vec![asleep.clone()], &[]), Err(Lack::SleepsOnSporadic));
        let below = task(1, 50, 30);
        let both = vec![asleep.clone(), below.clone()];
        assert_eq!(of(both.clone(), &[None]), Err(Lack::Depends("t".into())));
        assert!(of(both.clone(), &[Some(20)]).is_ok());
        let evicts = vec![Task { colors: 1, ..asleep }, Task { colors: 3, ..below }];
        assert_eq!(of(evicts, &[Some(20)]), Err(Lack::EvictsAgain("t".into())));
        let late = Task { bound: Err(Lack::Late), ..task(1, 50, 0) };
        assert_eq!(of(vec![late], &[]), Err(Lack::Late));
        let beside = Interferer { wait: 1, limits: None };
        let vcpu = Vcpu { interferers: vec![beside], ..vcpu(both) };
        assert_eq!(windows(&vcpu, 1, &[Some(20)]), Err(Lack::Memory));
    }
}
