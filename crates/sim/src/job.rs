//! A task while it is simulated: its jobs.

use std::collections::VecDeque;

use policy::rate::Rate;
use policy::time::Instant;

use crate::memory::Evenly;
use crate::passage::Passage;
use crate::random::Random;
use crate::statistics::TaskStatistics;
use crate::time::NEVER;
use crate::{Accesses, Error, Execution, Release, Task};

/// Most jobs of a task that wait behind the one that executes.
const BACKLOG_MAX: usize = 1024;

#[derive(Clone, Debug)]
pub struct Jobs {
    task: Task,
    random: Random,
    next_trace: usize,
    next_release: usize,
    /// The time from which on a limit lets a release pass.
    from: i64,
    /// Execution time that the first job still needs; 0: there is no job, or it only waits for
    /// its last access.
    pub remaining: u64,
    /// Execution time of the job when it began.
    execution: u64,
    /// Memory accesses that it has made.
    pub made: u64,
    /// Time that the job waits for accesses of other PCPUs before it continues.
    pub stall: u64,
    /// Release times, of the first job first.
    released: VecDeque<u64>,
    /// Its critical sections.
    pub sections: Passage,
    pub statistics: TaskStatistics,
}

impl Jobs {
    pub fn new(task: &Task, seed: u64, stream: u64) -> Result<Self, Error> {
        let possible = match &task.execution {
            Execution::Always(time) => *time > 0,
            Execution::Uniform { min, max } => 0 < *min && min <= max,
            Execution::Trace(times) => !times.is_empty() && !times.contains(&0),
        };
        if !possible {
            return Err(Error::Execution { task: task.name.clone() });
        }
        if task.period == 0 {
            return Err(Error::NoPeriod { task: task.name.clone() });
        }
        if task.accesses == Accesses::Every(0) {
            return Err(Error::Accesses { task: task.name.clone() });
        }
        Ok(Self {
            task: task.clone(),
            random: Random::new(seed, stream),
            next_trace: 0,
            next_release: 0,
            from: Rate::START,
            remaining: 0,
            execution: 0,
            made: 0,
            stall: 0,
            released: VecDeque::new(),
            sections: Passage::default(),
            statistics: TaskStatistics::default(),
        })
    }

    /// Returns the time of the first release; [`NEVER`] if rings release jobs.
    pub fn first_release(&self) -> u64 {
        if self.is_rung() { NEVER } else { self.task.offset }
    }

    /// Returns true if rings release jobs.
    pub fn is_rung(&self) -> bool {
        self.task.release == Release::Rung
    }

    /// Releases a job; returns the time of the next release, [`NEVER`] if that is not known.
    pub fn release(&mut self, now: u64) -> Result<u64, Error> {
        self.statistics.releases += 1;
        if self.released.len() > BACKLOG_MAX {
            return Err(Error::Overload {
                task: self.task.name.clone(),
                jobs: self.released.len(),
                at_ns: now,
            });
        }
        self.released.push_back(now);
        if self.released.len() == 1 {
            self.begin();
        }
        let delay = match &self.task.release {
            Release::Periodic => 0,
            Release::Sporadic { delay_max } => self.random.between(0, *delay_max),
            Release::Rung => return Ok(NEVER),
            Release::Limited { limit, delay_max } => {
                self.from = limit.enter(self.from, Instant(now));
                let delay = self.random.between(0, *delay_max);
                return Ok((self.from.max(0) as u64).max(now).saturating_add(delay));
            }
            Release::Trace(times) => {
                let time = times.get(self.next_release).map_or(NEVER, |&time| time.max(now));
                self.next_release += 1;
                return Ok(time);
            }
        };
        Ok(now.saturating_add(self.task.period).saturating_add(delay))
    }

    /// Completes the first job; returns its response time.
    pub fn complete(&mut self, now: u64) -> u64 {
        let response = now - self.released.pop_front().unwrap_or(now);
        self.statistics.complete(response, self.task.deadline);
        if !self.released.is_empty() {
            self.begin();
        }
        response
    }

    /// Jobs that are not complete though their deadline was before `now`.
    pub fn overdue(&self, now: u64) -> u64 {
        let late = |released: &&u64| released.saturating_add(self.task.deadline) < now;
        self.released.iter().filter(late).count() as u64
    }

    /// The first job begins.
    fn begin(&mut self) {
        self.execution = self.execution_time();
        (self.remaining, self.made) = (self.execution, 0);
        self.sections.begin(self.execution);
    }

    /// Returns the execution time of the first job until it enters or leaves a critical section;
    /// `u64::MAX` if it does not.
    #[inline]
    pub fn to_section(&self) -> u64 {
        match self.sections.next() {
            Some(at) => at.saturating_sub(self.done()),
            None => NEVER,
        }
    }

    /// Lets the first job, which runs, execute for `elapsed` nanoseconds. Returns the number of its
    /// accesses.
    pub fn go_on(&mut self, elapsed: u64) -> u64 {
        let waited = self.stall.min(elapsed);
        self.stall -= waited;
        self.remaining -= elapsed - waited;
        let made = self.due() - self.made;
        self.made += made;
        made
    }

    /// Returns the time that the first job has executed.
    pub fn done(&self) -> u64 {
        self.execution - self.remaining
    }

    /// Returns the coming accesses of the first job until it completes or is at the edge of a
    /// section, if it makes a certain number and others are left. It continues at `begin`.
    pub fn evenly(&self, begin: u64) -> Option<Evenly> {
        let end = self.done() + self.remaining.min(self.to_section());
        let begun = begin.saturating_add(self.stall) - self.done();
        Evenly::new((self.all(), self.execution), self.made, end, begun)
    }

    /// Lets the first job continue where it has made the last of these accesses, and waits for it.
    pub fn go_to(&mut self, accesses: &Evenly, stall: u64) {
        self.made = accesses.made();
        self.remaining = self.execution - self.place(self.made);
        self.stall = stall;
    }

    /// Accesses that the first job makes until where it is.
    fn due(&self) -> u64 {
        let done = self.done();
        match self.task.accesses {
            Accesses::None => 0,
            Accesses::PerJob(_) => quotient(done, self.all(), self.execution),
            Accesses::Every(gap) => done / gap,
            Accesses::WithOthers => self.made,
        }
    }

    /// Accesses of the first job, if it makes a certain number: at most one in each nanosecond.
    fn all(&self) -> u64 {
        match self.task.accesses {
            Accesses::PerJob(all) => all.min(self.execution),
            _ => 0,
        }
    }

    /// Returns where it makes an access, if it makes a certain number.
    fn place(&self, access: u64) -> u64 {
        let place = u128::from(access) * u128::from(self.execution);
        place.div_ceil(u128::from(self.all().max(1))) as u64
    }

    /// Returns the time that the first job has to run until it has made this number of accesses.
    pub fn time_to(&self, accesses: u64) -> Option<u64> {
        let at = match self.task.accesses {
            Accesses::PerJob(_) if accesses <= self.all() => self.place(accesses),
            Accesses::Every(gap) => accesses.checked_mul(gap).filter(|&at| at <= self.execution)?,
            _ => return None,
        };
        Some(self.stall + at.saturating_sub(self.done()))
    }

    /// Returns the time that the first job has executed since its last access.
    pub fn since_access(&self) -> u64 {
        let done = self.done();
        match self.task.accesses {
            Accesses::PerJob(_) => done - self.place(self.made),
            Accesses::Every(gap) => done - self.made * gap,
            _ => 0,
        }
    }

    /// Returns the memory accesses of the jobs.
    pub fn accesses(&self) -> Accesses {
        self.task.accesses
    }

    /// Returns the longest execution time of its jobs.
    pub fn longest(&self) -> u64 {
        match &self.task.execution {
            Execution::Always(time) => *time,
            Execution::Uniform { max, .. } => *max,
            Execution::Trace(times) => times.iter().copied().max().unwrap_or(0),
        }
    }

    fn execution_time(&mut self) -> u64 {
        match &self.task.execution {
            Execution::Always(time) => *time,
            Execution::Uniform { min, max } => self.random.between(*min, *max),
            Execution::Trace(times) => {
                let time = times[self.next_trace];
                self.next_trace = (self.next_trace + 1) % times.len();
                time
            }
        }
    }
}

/// `a * b / c`.
fn quotient(a: u64, b: u64, c: u64) -> u64 {
    (u128::from(a) * u128::from(b) / u128::from(c.max(1))) as u64
}
