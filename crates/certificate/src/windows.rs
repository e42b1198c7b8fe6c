//! The windows that lead to a bound: for each job of the longest busy window the shortest one in
//! which the supply meets the demand.
//!
//! The equations are those of `base`, `windows_ok` and `class_ok` in `proofs/Certificate.v`, under
//! the same names.

use crate::{Kind, Lack, Place, Server, Vcpu};

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
    let not_confirmed = || Lack::NotConfirmed(response);
    let mut windows = Vec::new();
    let mut window = 1;
    for job in 0..JOBS_MAX as u128 {
        let demand = |window| base(vcpu, index, &streams, window) + (job + 1) * own;
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

/// Returns true if no task down to this one suspends itself, and the VCPU is not in the background.
fn plain(vcpu: &Vcpu, index: usize) -> bool {
    vcpu.place != Place::Background && vcpu.tasks[..=index].iter().all(|task| task.suspension == 0)
}

fn check_class(vcpu: &Vcpu, index: usize) -> Result<(), Lack> {
    if plain(vcpu, index) {
        return Ok(());
    }
    if vcpu.tasks[..=index].iter().any(|task| task.blocking > 0) {
        return Err(Lack::Blocking);
    }
    match vcpu.place {
        Place::Served { own: Server { kind: Kind::Sporadic, .. }, .. }
            if vcpu.tasks[index].suspension > 0 =>
        {
            Err(Lack::SleepsOnSporadic)
        }
        _ => Ok(()),
    }
}

/// Returns the demand of the tasks above.
fn streams(vcpu: &Vcpu, index: usize, known: &[Option<u64>]) -> Result<Vec<Stream>, Lack> {
    let mut evicted = vcpu.tasks[index].colors;
    let mut streams = Vec::with_capacity(index);
    for (task, known) in vcpu.tasks[..index].iter().zip(known).rev() {
        let common = (task.colors & evicted).count_ones();
        let delay = u128::from(common) * u128::from(vcpu.reload);
        evicted |= task.colors;
        let jitter = match (task.suspension, known) {
            (0, _) => task.jitter,
            (_, Some(bound)) if task.wcet <= *bound && task.wcet <= task.period => {
                bound - task.wcet
            }
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
    let rest = match (plain(vcpu, index), vcpu.place) {
        (true, _) => u128::from(vcpu.tasks[index].blocking),
        (false, Place::Background) => u128::from(vcpu.late) + servers(),
        (false, _) => 0,
    };
    above.sum::<u128>() + events.sum::<u128>() + u128::from(vcpu.once) + rest
}

/// Returns the length of the shortest window in which the VCPU is guaranteed this time.
fn needed(vcpu: &Vcpu, demand: u128) -> u128 {
    match vcpu.place {
        Place::Served { own, response } => {
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
    use crate::Task;

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
        let blocked = Task { blocking: 1, ..asleep.clone() };
        assert_eq!(of(vec![blocked], &[]), Err(Lack::Blocking));
        let below = task(1, 50, 30);
        let both = vec![asleep.clone(), below.clone()];
        assert_eq!(of(both.clone(), &[None]), Err(Lack::Depends("t".into())));
        assert!(of(both, &[Some(20)]).is_ok());
        let evicts = vec![Task { colors: 1, ..asleep }, Task { colors: 3, ..below }];
        assert_eq!(of(evicts, &[Some(20)]), Err(Lack::EvictsAgain("t".into())));
        let late = Task { bound: Err(Lack::Late), ..task(1, 50, 0) };
        assert_eq!(of(vec![late], &[]), Err(Lack::Late));
    }
}
