//! A task while it is simulated: its jobs.

use std::collections::VecDeque;

use crate::pcpu::NEVER;
use crate::random::Random;
use crate::statistics::TaskStatistics;
use crate::{Error, Execution, Release, Task};

/// Most jobs of a task that wait behind the one that executes.
const BACKLOG_MAX: usize = 1024;

#[derive(Clone, Debug)]
pub struct Jobs {
    task: Task,
    random: Random,
    next_trace: usize,
    next_release: usize,
    /// Execution time that the first job still needs; 0: there is no job.
    pub remaining: u64,
    /// Release times, of the first job first.
    released: VecDeque<u64>,
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
        Ok(Self {
            task: task.clone(),
            random: Random::new(seed, stream),
            next_trace: 0,
            next_release: 0,
            remaining: 0,
            released: VecDeque::new(),
            statistics: TaskStatistics::default(),
        })
    }

    pub fn first_release(&self) -> u64 {
        self.task.offset
    }

    /// A job is released; returns the time of the next release.
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
        if self.remaining == 0 {
            self.remaining = self.execution_time();
        }
        let delay = match &self.task.release {
            Release::Periodic => 0,
            Release::Sporadic { delay_max } => self.random.between(0, *delay_max),
            Release::Trace(times) => {
                let time = times.get(self.next_release).map_or(NEVER, |&time| time.max(now));
                self.next_release += 1;
                return Ok(time);
            }
        };
        Ok(now.saturating_add(self.task.period).saturating_add(delay))
    }

    /// The first job is complete; returns its response time.
    pub fn complete(&mut self, now: u64) -> u64 {
        let response = now - self.released.pop_front().unwrap_or(now);
        self.statistics.complete(response, self.task.deadline);
        if !self.released.is_empty() {
            self.remaining = self.execution_time();
        }
        response
    }

    /// Jobs that are not complete though their deadline was before `now`.
    pub fn overdue(&self, now: u64) -> u64 {
        let late = |released: &&u64| released.saturating_add(self.task.deadline) < now;
        self.released.iter().filter(late).count() as u64
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
