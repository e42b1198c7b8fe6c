//! Periodic tasks under preemptive fixed priorities: which job is released when, which one runs, and
//! how long it took. Pure: times come in as counter ticks, decisions go out.
//!
//! Job `k` of a task is released at `start + offset + k * period`, converted to ticks as one sum, so
//! that periods do not drift whatever the frequency of the counter. A release that finds the job
//! before it unfinished is an overrun: it is counted and dropped.
//!
//! The bell of the VM releases the jobs of a task with the period [`BY_BELL`]. If it rings while a job is not
//! complete, another job follows, one however often it rings meanwhile: that one sees all that was announced.
//!
//! `policy::task` decides which job runs, and where tasks have critical sections `policy::lock::pcp` does (`sections`), as in the
//! simulator.

mod sections;

use core::time::Duration;

use policy::lock::pcp::Pcp;
use policy::task::ReadyTasks;

use crate::statistics::Summary;
use crate::time::Clock;

/// Most tasks in a set.
pub const TASKS_MAX: usize = 8;

/// Period of a task of which the bell releases the jobs.
pub const BY_BELL: Duration = Duration::MAX;

/// A task.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Name for reports.
    pub name: &'static str,
    /// Time between releases; more than zero. [`BY_BELL`]: the bell releases jobs.
    pub period: Duration,
    /// Time from the start to the first release.
    pub offset: Duration,
    /// Time from release in which a job is to complete.
    pub deadline: Duration,
    /// Tasks with a higher number preempt those with a lower one; equal ones go by their order.
    pub priority: u8,
}

/// The reason why tasks are not a task set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TaskError {
    /// There are more than [`TASKS_MAX`].
    TooMany,
    /// The period of the task with this name is zero.
    ZeroPeriod(&'static str),
}

impl core::fmt::Display for TaskError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::TooMany => write!(f, "more than {TASKS_MAX} tasks"),
            Self::ZeroPeriod(name) => write!(f, "task {name}: the period is zero"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Job {
    release: u64,
    started: bool,
}

/// The history of one task so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Record {
    /// Response times of completed jobs in ticks: completion minus release.
    pub response: Summary,
    /// Completed jobs whose response time was longer than the deadline.
    pub misses: u64,
    /// Releases that were dropped because the job before was not complete.
    pub overruns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    parameters: Parameters,
    deadline: u64,
    released: u64,
    next_release: u64,
    job: Option<Job>,
    /// The time of release of the job that follows the current one, if the bell rang meanwhile.
    follows: Option<u64>,
    record: Record,
}

/// Tasks, their current jobs and their records.
#[derive(Clone, Debug)]
pub struct TaskSet {
    clock: Clock,
    start: u64,
    end: u64,
    tasks: [Option<Task>; TASKS_MAX],
    /// The rank of each task, 0 the highest priority: what policies know tasks by.
    ranks: [usize; TASKS_MAX],
    /// Ranks of the tasks with a job that waits for no global resource.
    ready: ReadyTasks,
    /// Ranks of those that hold a global resource.
    raised: ReadyTasks,
    local: Pcp,
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl TaskSet {
    /// Tasks that release jobs at ticks `start..end` of `clock`.
    pub fn new(
        tasks: impl IntoIterator<Item = Parameters>,
        clock: Clock,
        start: u64,
        end: u64,
    ) -> Result<Self, TaskError> {
        let mut set = Self {
            clock,
            start,
            end,
            tasks: [None; TASKS_MAX],
            ranks: [0; TASKS_MAX],
            ready: ReadyTasks::default(),
            raised: ReadyTasks::default(),
            local: Pcp::default(),
        };
        for (index, parameters) in tasks.into_iter().enumerate() {
            let slot = set.tasks.get_mut(index).ok_or(TaskError::TooMany)?;
            if parameters.period.is_zero() {
                return Err(TaskError::ZeroPeriod(parameters.name));
            }
            *slot = Some(Task {
                parameters,
                deadline: clock.ticks(nanoseconds(parameters.deadline)),
                released: 0,
                next_release: match parameters.period {
                    BY_BELL => u64::MAX,
                    _ => start.saturating_add(clock.ticks(nanoseconds(parameters.offset))),
                },
                job: None,
                follows: None,
                record: Record::default(),
            });
        }
        let priority = |index: usize| set.tasks[index].map(|task| task.parameters.priority);
        set.ranks = core::array::from_fn(|own| {
            let before = |&other: &usize| {
                priority(other) > priority(own) || priority(other) == priority(own) && other < own
            };
            (0..TASKS_MAX).filter(before).count()
        });
        Ok(set)
    }

    /// Releases the next job that is due at `now` and not yet released; call until it returns `None`.
    /// Returns the task, and true if its job can run (`false`: an overrun).
    pub fn release(&mut self, now: u64) -> Option<(usize, bool)> {
        let (clock, start, end) = (self.clock, self.start, self.end);
        let due = |task: &Task| task.next_release <= now && task.next_release < end;
        let (index, task) = (0..)
            .zip(&mut self.tasks)
            .find_map(|(index, slot)| Some((index, slot.as_mut().filter(|task| due(task))?)))?;
        let runs = task.job.is_none();
        if runs {
            task.job = Some(Job { release: task.next_release, started: false });
            self.ready.insert(self.ranks[index]);
        } else {
            task.record.overruns += 1;
        }
        task.released += 1;
        let parameters = &task.parameters;
        let since_start = nanoseconds(parameters.period)
            .saturating_mul(task.released)
            .saturating_add(nanoseconds(parameters.offset));
        task.next_release = start.saturating_add(clock.ticks(since_start));
        Some((index, runs))
    }

    /// The bell rang at `now`: releases a job of the task that it releases, if there is one and the
    /// releases have not ended. Returns the task, and true if its job can run now (`false`: it follows
    /// the current one); `None` if there is nothing to release.
    pub fn ring(&mut self, now: u64) -> Option<(usize, bool)> {
        if !(self.start..self.end).contains(&now) {
            return None;
        }
        let index = self.by_bell()?;
        let task = self.tasks[index].as_mut()?;
        match (task.job, task.follows) {
            (None, _) => {
                task.job = Some(Job { release: now, started: false });
                self.ready.insert(self.ranks[index]);
                Some((index, true))
            }
            (Some(_), None) => {
                task.follows = Some(now);
                Some((index, false))
            }
            (Some(_), Some(_)) => None,
        }
    }

    /// The task that the bell releases.
    fn by_bell(&self) -> Option<usize> {
        let is = |task: &Option<Task>| task.is_some_and(|task| task.parameters.period == BY_BELL);
        self.tasks.iter().position(is)
    }

    /// Time at which there is something to do without a ring: the next release, or the end of the
    /// releases if the bell can release jobs until then.
    pub fn next_event(&self, now: u64) -> Option<u64> {
        let end = (self.by_bell().is_some() && now < self.end).then_some(self.end);
        self.next_release().or(end)
    }

    /// Time of the next release, `None` after the last one.
    pub fn next_release(&self) -> Option<u64> {
        let releases = self.tasks.iter().flatten().map(|task| task.next_release);
        releases.filter(|&release| release < self.end).min()
    }

    /// The task that is to run: the one of highest priority that has a job, or that comes before it
    /// because of a critical section.
    pub fn ready(&self) -> Option<usize> {
        self.with_rank(self.local.runs(self.ready, self.raised)?)
    }

    /// The rank of a task, by which policies and hypervisor know it: 0 is the highest priority.
    pub fn rank(&self, index: usize) -> Option<usize> {
        self.ranks.get(index).copied()
    }

    /// The task of a rank.
    pub fn with_rank(&self, rank: usize) -> Option<usize> {
        self.ranks.iter().position(|it| *it == rank)
    }

    fn task(&mut self, index: usize) -> Option<&mut Task> {
        self.tasks.get_mut(index)?.as_mut()
    }

    /// Notes that the job of task `index` runs. Returns true if it runs for the first time.
    pub fn start(&mut self, index: usize) -> bool {
        let job = self.task(index).and_then(|task| task.job.as_mut());
        job.is_some_and(|job| !core::mem::replace(&mut job.started, true))
    }

    /// Completes the job of task `index` at `now`; returns its response time in ticks, `None` if it
    /// has no job. The job that [follows](Self::follows) is ready then.
    pub fn complete(&mut self, index: usize, now: u64) -> Option<u64> {
        let rank = self.rank(index)?;
        self.ready.remove(rank);
        let task = self.task(index)?;
        let response = now.saturating_sub(task.job.take()?.release);
        task.record.response.add(response);
        if response > task.deadline {
            task.record.misses += 1;
        }
        if let Some(release) = task.follows.take() {
            task.job = Some(Job { release, started: false });
            self.ready.insert(rank);
        }
        Some(response)
    }

    /// Returns true if a job of task `index` waits for the one before.
    pub fn follows(&self, index: usize) -> bool {
        self.tasks.get(index).is_some_and(|task| task.is_some_and(|task| task.follows.is_some()))
    }

    /// Returns true if all jobs have been released and completed at `now`.
    pub fn is_finished(&self, now: u64) -> bool {
        self.next_event(now).is_none() && self.tasks.iter().flatten().all(|task| task.job.is_none())
    }

    /// Tasks and their records, in the order given.
    pub fn records(&self) -> impl Iterator<Item = (&Parameters, &Record)> {
        self.tasks.iter().flatten().map(|task| (&task.parameters, &task.record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock::new(1_000_000);

    fn task(name: &'static str, period: u64, priority: u8) -> Parameters {
        let period = Duration::from_micros(period);
        Parameters { name, period, offset: Duration::ZERO, deadline: period, priority }
    }

    fn release_all(set: &mut TaskSet, now: u64) -> Vec<(usize, bool)> {
        core::iter::from_fn(|| set.release(now)).collect()
    }

    /// Runs the set with jobs of constant length, tick by tick.
    fn simulate(tasks: [Parameters; 3], lengths: &[u64], end: u64) -> TaskSet {
        let mut set = TaskSet::new(tasks, CLOCK, 0, end).unwrap();
        let mut left = lengths.to_vec();
        let mut now = 0;
        while !set.is_finished(now) {
            release_all(&mut set, now);
            if let Some(index) = set.ready() {
                set.start(index);
                left[index] -= 1;
                if left[index] == 0 {
                    set.complete(index, now + 1);
                    left[index] = lengths[index];
                }
            }
            now += 1;
        }
        set
    }

    #[test]
    fn response_times_are_those_of_the_textbook() {
        // Response-time analysis (Joseph and Pandya 1986): R = C + sum of ceil(R / T) * C over higher
        // priorities gives 3, 6 and 20.
        let tasks = [task("a", 7, 3), task("b", 12, 2), task("c", 20, 1)];
        let set = simulate(tasks, &[3, 3, 5], 7 * 12 * 20);
        let worst: Vec<_> = set.records().map(|(_, record)| record.response.max()).collect();
        assert_eq!(worst, [3, 6, 20]);
        assert!(set.records().all(|(_, record)| record.misses == 0 && record.overruns == 0));
        let jobs: Vec<_> = set.records().map(|(_, record)| record.response.count()).collect();
        assert_eq!(jobs, [240, 140, 84]);
    }

    #[test]
    fn releases_are_absolute() {
        // 3 us are no whole number of ticks of 32768 Hz.
        let clock = Clock::new(32_768);
        let mut set = TaskSet::new([task("a", 1000, 1)], clock, 10, u64::MAX).unwrap();
        for _ in 0..1000 {
            let now = set.next_release().unwrap();
            assert_eq!(release_all(&mut set, now), [(0, true)]);
            set.complete(0, now);
        }
        assert_eq!(set.next_release(), Some(10 + 32_768));
    }

    #[test]
    fn late_jobs_are_misses_and_dropped_releases_are_overruns() {
        let mut set = TaskSet::new([task("a", 10, 1)], CLOCK, 0, 40).unwrap();
        assert_eq!(release_all(&mut set, 0), [(0, true)]);
        assert_eq!(release_all(&mut set, 25), [(0, false), (0, false)]);
        assert_eq!(set.complete(0, 26), Some(26));
        assert_eq!(set.ready(), None);
        assert_eq!(set.next_release(), Some(30));
        assert_eq!(release_all(&mut set, 30), [(0, true)]);
        assert_eq!(set.complete(0, 40), Some(10), "at its deadline is in time");
        let (_, record) = set.records().next().unwrap();
        assert_eq!((record.misses, record.overruns, record.response.count()), (1, 2, 2));
        assert!(set.is_finished(40));
    }

    #[test]
    fn equal_priorities_go_by_order() {
        let mut set = TaskSet::new([task("a", 9, 1), task("b", 9, 1)], CLOCK, 0, 9).unwrap();
        release_all(&mut set, 0);
        assert_eq!(set.ready(), Some(0));
    }

    #[test]
    fn a_job_starts_once() {
        let mut set = TaskSet::new([task("a", 9, 1)], CLOCK, 0, 9).unwrap();
        assert!(!set.start(0));
        release_all(&mut set, 0);
        assert!(set.start(0));
        assert!(!set.start(0));
        assert_eq!(set.complete(0, 1), Some(1));
        assert_eq!(set.complete(0, 1), None);
    }

    #[test]
    fn offsets_delay_the_first_release() {
        let delayed = Parameters { offset: Duration::from_micros(4), ..task("a", 10, 1) };
        let mut set = TaskSet::new([delayed], CLOCK, 100, 1000).unwrap();
        assert_eq!(release_all(&mut set, 103), []);
        assert_eq!(release_all(&mut set, 104), [(0, true)]);
        assert_eq!(set.next_release(), Some(114));
    }

    /// A job that is not complete when it rings is followed by one more, however often it rings.
    #[test]
    fn the_bell_releases_jobs() {
        let by_bell = Parameters { period: BY_BELL, ..task("b", 10, 1) };
        let by_bell = Parameters { deadline: Duration::from_micros(10), ..by_bell };
        let mut set = TaskSet::new([task("a", 30, 2), by_bell], CLOCK, 10, 60).unwrap();
        assert_eq!(set.ring(9), None, "before the start");
        assert_eq!(release_all(&mut set, 10), [(0, true)]);
        assert_eq!(set.next_event(10), Some(40));
        assert_eq!((set.ring(11), set.ready()), (Some((1, true)), Some(0)));
        assert_eq!(set.complete(0, 12), Some(2));
        assert_eq!((set.ready(), set.follows(1)), (Some(1), false));
        assert_eq!((set.ring(13), set.ring(14)), (Some((1, false)), None));
        assert!(set.follows(1));
        assert_eq!(set.complete(1, 20), Some(9));
        assert_eq!((set.ready(), set.start(1)), (Some(1), true));
        assert_eq!(set.complete(1, 25), Some(12), "from the first ring that it answers");
        assert_eq!(set.ready(), None);
        assert_eq!(release_all(&mut set, 40), [(0, true)]);
        assert_eq!(set.complete(0, 41), Some(1));
        assert_eq!((set.next_event(41), set.is_finished(41)), (Some(60), false));
        assert_eq!((set.ring(60), set.is_finished(60)), (None, true));
        let (_, record) = set.records().nth(1).unwrap();
        assert_eq!((record.response.count(), record.misses, record.overruns), (2, 1, 0));
    }

    #[test]
    fn bad_tasks_are_refused() {
        let zero = TaskSet::new([task("z", 0, 1)], CLOCK, 0, 1);
        assert_eq!(zero.unwrap_err(), TaskError::ZeroPeriod("z"));
        let many = TaskSet::new([task("a", 1, 1); 9], CLOCK, 0, 1);
        assert_eq!(many.unwrap_err(), TaskError::TooMany);
    }
}
