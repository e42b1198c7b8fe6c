//! Response times of the tasks of a VCPU under fixed priorities.
//!
//! For a task `i` consider a busy period: it begins when no job of `i` or of a task above is
//! pending, and continues as long as one is. The window until the `q + 1`st job of `i` in it is
//! complete is not longer than the least one with
//!
//! ```text
//! supply(w) >= (q + 1) C_i + extra + sum over h above i of ceil((w + J_h) / T_h) (C_h + gamma_{h,i})
//! R_i = max over q of  w + J_i - q T_i,     until  w <= (q + 1) T_i - J_i
//! ```
//!
//! For a task that events release ([`Task::with_events`]), the `q + 1`st event of a busy period comes
//! `max(0, q T_i - J_i)` after its beginning at the earliest, and the response counts from there:
//! `R_i = max over q of  w - max(0, q T_i - J_i)`.
//!
//! (Lehoczky, RTSS 1990; Tindell, Burns and Wellings, RTSJ 1994; with a supply bound function in
//! place of time as Shin and Lee, RTSS 2003.) The release times of tasks do not matter: the bound
//! holds for all offsets.
//!
//! `extra` is the blocking `B_i`, and for a task that suspends itself `(q + 1) (B_i + S_i)`: its
//! own suspension counts as execution. A task above that suspends itself has the jitter `R_h - C_h`
//! (Chen, Nelissen and Huang, ECRTS 2016), which contains its own `J_h`.
//!
//! While a task suspends itself its VCPU may wait: [`crate::supply`] has the supply in this case.
//!
//! If such a task above evicts lines of the tasks below, it does so each time it continues, any
//! number of times, whereas Eq. 3 of vCache counts once in a job. Lines that are loaded again
//! before the last time are loaded while the job above is suspended or blocked: a job costs
//! `gamma_{h,i} + S_h + B_h`. And each job counts that executes in the window at all, also the last
//! part of one job and the first part of another: the jitter is `R_h`.

use crate::brute_force;
use crate::memory::{Contention, Memory, NoContention};
use crate::overheads::Overheads;
use crate::supply::{Supply, WholeGaps};
use crate::utilization::Share;
use crate::window::{self, Gaps, Stop, Stream, TOO_LONG};
use crate::{Caches, Duration, Failure, LONGEST, Limits, Task};

/// A workload: the tasks of a VCPU, and the time that the VCPU gets.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'a> {
    /// The tasks, the one with the highest priority first.
    pub tasks: &'a [Task],
    /// The time that the VCPU is guaranteed.
    pub supply: Supply<'a>,
    /// The colours of the tasks, if they evict lines of each other.
    pub caches: Option<Caches<'a>>,
    /// Delays by memory accesses of others, if execution times do not include them.
    pub contention: Option<Contention<'a>>,
    /// Time of the hypervisor, if execution times do not include it.
    pub overheads: Option<&'a Overheads>,
    /// Additional jitter of each task above another: 0, or that of vCache, Eq. 2.
    pub(crate) jitter: Duration,
}

impl<'a> Workload<'a> {
    /// Makes the workload of tasks on a PCPU of their own.
    pub fn new(tasks: &'a [Task]) -> Self {
        Self {
            tasks,
            supply: Supply::Whole,
            caches: None,
            contention: None,
            overheads: None,
            jitter: Duration(0),
        }
    }

    /// Returns the same tasks on a VCPU with this supply.
    pub fn with_supply(self, supply: Supply<'a>) -> Self {
        Self { supply, ..self }
    }

    /// Returns the time that the tasks get in a window; the time of servers above counts as demand.
    pub(crate) fn supply_in(&self, window: u64) -> u64 {
        match self.supply {
            Supply::Whole | Supply::Leftover(_) => window,
            Supply::Server(server) => server.in_window(Duration(window)).0,
        }
    }

    /// Returns the same tasks with these colours.
    pub fn with_caches(self, caches: Caches<'a>) -> Self {
        Self { caches: Some(caches), ..self }
    }

    /// Returns the same tasks under a hypervisor that takes time.
    pub fn with_overheads(self, overheads: &'a Overheads) -> Self {
        Self { overheads: Some(overheads), ..self }
    }

    /// Returns the time that the hypervisor takes once in a busy period.
    fn overhead(&self) -> u64 {
        self.overheads.map_or(0, Overheads::constant)
    }

    /// Returns the same tasks beside others that access memory.
    pub fn with_contention(self, contention: Contention<'a>) -> Self {
        Self { contention: Some(contention), ..self }
    }
}

/// A bound, and the window that leads to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Response {
    /// Longest time from arrival to completion: `R`, with the release jitter of the task; from the
    /// event if events release the jobs.
    pub time: Duration,
    /// The window at the end of which the job with the longest response time is complete.
    pub window: Duration,
    /// Jobs of the task in that window, this one counted.
    pub jobs: u64,
}

/// Checks that all tasks meet their deadlines; returns the first failure if not. Keep an
/// [`Analyzer`] for many calls.
pub fn schedulable(workload: &Workload<'_>) -> Result<(), Failure> {
    Analyzer::default().schedulable(workload)
}

/// Returns a bound for every task, whether or not it meets its deadline. Keep an [`Analyzer`] for
/// many calls.
pub fn response_times(workload: &Workload<'_>) -> Vec<Result<Response, Failure>> {
    let mut responses = Vec::new();
    Analyzer::default().response_times(workload, &mut responses);
    responses
}

/// An analyzer for many workloads, which does not allocate memory for each.
#[derive(Clone, Debug, Default)]
pub struct Analyzer {
    limits: Limits,
    streams: Vec<Stream>,
    /// Memory accesses of one job of each stream, if they are counted.
    accesses: Vec<u64>,
    /// The last task that suspends itself and has no bound.
    unbounded: Option<usize>,
}

/// The goal of the analysis of a task set: it decides what follows a task without a bound below its deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Goal {
    /// The analysis ends.
    YesOrNo,
    /// The analysis continues, and also returns bounds above deadlines.
    AllBounds,
}

impl Analyzer {
    /// Makes an analyzer with these limits.
    pub fn new(limits: Limits) -> Self {
        let window = limits.window.min(LONGEST);
        Self { limits: Limits { window, ..limits }, ..Self::default() }
    }

    /// Checks that all tasks meet their deadlines; returns the first failure if not.
    pub fn schedulable(&mut self, workload: &Workload<'_>) -> Result<(), Failure> {
        let mut answer = Ok(());
        self.analyze(workload, Goal::YesOrNo, |response| {
            answer = response.map(drop);
            answer.is_ok()
        });
        answer
    }

    /// Finds a bound for every task in their order, whether or not it meets its deadline;
    /// `responses` is emptied before.
    pub fn response_times(
        &mut self,
        workload: &Workload<'_>,
        responses: &mut Vec<Result<Response, Failure>>,
    ) {
        responses.clear();
        self.analyze(workload, Goal::AllBounds, |response| {
            responses.push(response);
            true
        });
    }

    #[inline]
    fn analyze(
        &mut self,
        workload: &Workload<'_>,
        goal: Goal,
        visit: impl FnMut(Result<Response, Failure>) -> bool,
    ) {
        self.streams.clear();
        self.unbounded = None;
        match &workload.contention {
            None => self.supplied(workload, &NoContention, goal, visit),
            Some(contention) => self.supplied(workload, contention, goal, visit),
        }
    }

    #[inline]
    fn supplied<M: Memory>(
        &mut self,
        workload: &Workload<'_>,
        memory: &M,
        goal: Goal,
        visit: impl FnMut(Result<Response, Failure>) -> bool,
    ) {
        match workload.supply {
            Supply::Whole => self.tasks(workload, (WholeGaps, memory), goal, visit),
            Supply::Server(server) => self.tasks(workload, (server, memory), goal, visit),
            Supply::Leftover(above) => {
                self.streams.extend(above.iter().map(Stream::of_server));
                self.tasks(workload, (WholeGaps, memory), goal, visit);
            }
        }
    }

    #[inline]
    fn tasks<G: Gaps, M: Memory>(
        &mut self,
        workload: &Workload<'_>,
        (gaps, memory): (G, &M),
        goal: Goal,
        mut visit: impl FnMut(Result<Response, Failure>) -> bool,
    ) {
        let mut passes = self.limits.passes;
        if let Some(overheads) = workload.overheads {
            self.streams.extend(overheads.streams());
        }
        // The servers whose rest the VCPU gets, and the hypervisor.
        let servers = self.streams.len();
        let overhead = workload.overhead();
        // Demand that is certainly met in the window of the next task.
        let mut known = overhead;
        for (index, task) in workload.tasks.iter().enumerate() {
            if let Some(on) = self.unbounded {
                if !visit(Err(Failure::Depends { task: index, on })) {
                    return;
                }
                continue;
            }
            known = (known + task.wcet).min(TOO_LONG);
            if let Some(caches) = &workload.caches {
                let least = self.add_delays(servers, workload.tasks, index, caches);
                known = known.max(least.saturating_add(task.wcet)).min(TOO_LONG);
            }
            let asleep;
            // Its VCPU also waits where its own limit of accesses ends.
            let limited = workload.contention.is_some_and(|it| it.throttle.is_some());
            let (workload, gaps) = match task.suspension > 0 || limited {
                false => (workload, gaps),
                true => {
                    asleep = Workload { supply: workload.supply.with_sleep(), ..*workload };
                    (&asleep, gaps.with_sleep())
                }
            };
            let own = task.wcet + task.extra() + overhead;
            let least = known + task.extra();
            let limit = on_time(task, 1).min(self.limits.window.0);
            memory.collect(&mut self.accesses, servers, workload, index);
            let waiting = memory.waiting(&self.accesses, workload, index, 1);
            let demand = (self.streams.as_slice(), waiting);
            let unbounded = memory.unbounded(workload, index);
            let found = match unbounded {
                Some(_) => Err(Stop::Passes),
                None => window::shortest(demand, own, least, gaps, limit, &mut passes),
            };
            let response = match found {
                // One job in the busy period: the usual case.
                Ok(found) if found.window <= free(task, 1) => {
                    brute_force::confirm(workload, demand, own, found.window);
                    if task.extra() == 0 {
                        known = found.demand;
                    }
                    Ok(Response::new(task, found.window, 1))
                }
                Err(Stop::Beyond(window)) if goal == Goal::YesOrNo => {
                    Err(beyond(index, task, window, 1))
                }
                Err(Stop::Passes) => {
                    Err(unbounded.unwrap_or_else(|| limit_reached(workload, index, goal)))
                }
                Ok(_) | Err(Stop::Beyond(_)) => {
                    self.busy_period(workload, index, goal, least, (gaps, memory), &mut passes)
                }
            };
            let jitter = match response {
                _ if task.suspension == 0 => task.jitter,
                Ok(response) => jitter_by_suspension(workload, index, &response),
                Err(_) => {
                    self.unbounded = Some(index);
                    0
                }
            };
            if !visit(response) {
                return;
            }
            self.streams.push(Stream::new(task.wcet, task.period, jitter + workload.jitter.0));
        }
    }

    /// Sets the costs of the tasks above `index` for the delays that they cause there. Returns the
    /// cost of one job of each, which is in every window: a search that examines no shorter windows
    /// multiplies no cost that is too large.
    fn add_delays(
        &mut self,
        servers: usize,
        tasks: &[Task],
        index: usize,
        caches: &Caches<'_>,
    ) -> u64 {
        let streams = &mut self.streams[servers..];
        let above = streams.iter_mut().zip(&tasks[..index]).rev().zip(caches.delays(index));
        let cost = |((stream, task), delay): ((&mut Stream, &Task), u64)| {
            stream.cost = task.wcet.saturating_add(reloads(task, delay));
            stream.cost
        };
        above.map(cost).fold(0, u64::saturating_add)
    }

    /// Returns all jobs of a task in its busy period; `least`: demand that is certainly met in the
    /// window of the first one.
    #[cold]
    fn busy_period<G: Gaps, M: Memory>(
        &mut self,
        workload: &Workload<'_>,
        index: usize,
        goal: Goal,
        least: u64,
        (gaps, memory): (G, &M),
        passes: &mut u32,
    ) -> Result<Response, Failure> {
        let task = &workload.tasks[index];
        if goal == Goal::AllBounds && overloaded(workload, index) {
            return Err(Failure::Overload { task: index });
        }
        let longest = self.limits.window.0;
        let next = task.wcet + task.extra_per_job();
        let (mut own, mut least) = (task.wcet + task.extra() + workload.overhead(), least);
        let mut worst: Option<Response> = None;
        for jobs in 1.. {
            let limit = match goal {
                Goal::YesOrNo => on_time(task, jobs).min(longest),
                Goal::AllBounds => longest,
            };
            let waiting = memory.waiting(&self.accesses, workload, index, jobs);
            let demand = (self.streams.as_slice(), waiting);
            let found = window::shortest(demand, own, least, gaps, limit, passes);
            let found = found.map_err(|stop| match stop {
                Stop::Beyond(window) if goal == Goal::YesOrNo => beyond(index, task, window, jobs),
                Stop::Beyond(_) if longest == LONGEST.0 => Failure::Overflow { task: index },
                _ => limit_reached(workload, index, goal),
            })?;
            brute_force::confirm(workload, demand, own, found.window);
            let response = Response::new(task, found.window, jobs);
            if worst.is_none_or(|worst| worst.time < response.time) {
                worst = Some(response);
            }
            if found.window <= free(task, jobs) {
                break;
            }
            *passes = passes.checked_sub(1).ok_or(Failure::LimitReached { task: index })?;
            // Not above the longest window of before, so that no sum overflows.
            (own, least) = (own + next, found.demand + next);
        }
        worst.ok_or(Failure::LimitReached { task: index })
    }
}

impl Response {
    /// Makes the response of the last of `jobs` jobs in the window.
    fn new(task: &Task, window: u64, jobs: u64) -> Self {
        let (origin, jitter) = task.origin(jobs);
        let time = Duration((window + jitter).saturating_sub(origin));
        Self { time, window: Duration(window), jobs }
    }
}

/// Returns the longest window that has at most `q` jobs of a task: `q T - J`.
#[inline]
fn free(task: &Task, jobs: u64) -> u64 {
    jobs.saturating_mul(task.period.get()).saturating_sub(task.jitter)
}

/// Returns the longest window at the end of which the last of `q` jobs is not late:
/// `(q - 1) T + D - J`, or `max(0, (q - 1) T - J) + D` if events release the jobs.
#[inline]
fn on_time(task: &Task, jobs: u64) -> u64 {
    let (origin, jitter) = task.origin(jobs);
    origin.saturating_add(task.deadline).saturating_sub(jitter)
}

/// Makes the failure for a window of `jobs` jobs that is above the limit: that of the deadline, or
/// that of the search.
#[cold]
fn beyond(index: usize, task: &Task, window: u64, jobs: u64) -> Failure {
    if window <= on_time(task, jobs) {
        return Failure::LimitReached { task: index };
    }
    // Windows above [`LONGEST`] count as the longest.
    let at_least = Response::new(task, window.min(LONGEST.0), jobs).time;
    Failure::Unschedulable { task: index, at_least, deadline: task.deadline() }
}

/// Returns the cost of a job of a task for those below it in the cache, where each time that the
/// task continues costs them `delay`.
pub(crate) fn reloads(task: &Task, delay: u64) -> u64 {
    match (delay, task.suspension) {
        (0, _) | (_, 0) => delay,
        (_, suspension) => delay.saturating_add(suspension).saturating_add(task.blocking),
    }
}

/// Returns the jitter of a task with this response time that suspends itself, for those below it.
pub(crate) fn jitter_by_suspension(
    workload: &Workload<'_>,
    index: usize,
    response: &Response,
) -> u64 {
    let evicts = workload.caches.is_some_and(|it| it.can_delay(index));
    let task = &workload.tasks[index];
    let early = if task.from_event { task.jitter } else { 0 };
    let response = response.time.0 + early;
    if evicts { response } else { response - task.wcet }
}

/// Makes the failure for a search that took too many steps: because there is no bound, or it is too
/// far away.
#[cold]
fn limit_reached(workload: &Workload<'_>, index: usize, goal: Goal) -> Failure {
    match goal == Goal::AllBounds && overloaded(workload, index) {
        true => Failure::Overload { task: index },
        false => Failure::LimitReached { task: index },
    }
}

/// Returns true if the tasks down to `index` certainly need more than the supply in the long run.
/// The suspensions of that task itself count as its execution.
fn overloaded(workload: &Workload<'_>, index: usize) -> bool {
    let delays = Caches::delays_from(workload.caches.as_ref(), index);
    let tasks = workload.tasks.iter().take(index + 1).rev().zip(delays);
    let part = |(task, delay): (&Task, u64)| {
        Share::down(Duration(task.wcet.saturating_add(reloads(task, delay))), task.period())
    };
    let task = &workload.tasks[index];
    let waits = Share::down(Duration(task.extra_per_job()), task.period());
    let above = match workload.supply {
        Supply::Leftover(above) => above,
        _ => &[],
    };
    let servers = above.iter().map(|server| Share::down(server.budget(), server.period()));
    let rate = match workload.supply {
        Supply::Server(server) => server.rate(),
        _ => Share::WHOLE,
    };
    let waiting = workload.contention.map(|contention| contention.rate(workload, index));
    let overheads = workload.overheads.map(Overheads::rate);
    let others = [waits].into_iter().chain(servers).chain(waiting).chain(overheads);
    tasks.map(part).chain(others).sum::<Share>() > rate
}
