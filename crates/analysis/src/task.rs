//! A task in analyses.

use crate::divisor::Divisor;
use crate::{Duration, LONGEST, TOO_LONG};

/// A recurring task with valid parameters: all times are at most [`LONGEST`], execution time,
/// period and deadline at least 1 ns.
///
/// A job *arrives*, is *released* up to `J` later, and then can execute. Two arrivals are at least
/// `T` apart. Deadline and response time count from the arrival: the response time of a task
/// includes its own jitter. The priority of a task is its place in a slice of tasks: the first one
/// has the highest priority.
///
/// A task that events release ([`Task::with_events`]) has no arrivals: its deadline and response time
/// count from the event, and `J` says how much earlier than one in each `T` events can come.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Task {
    // Private: the analyses rely on the checks in `checked`, and need no check for each addition.
    pub(crate) wcet: u64,
    pub(crate) period: Divisor,
    pub(crate) deadline: u64,
    pub(crate) jitter: u64,
    pub(crate) blocking: u64,
    pub(crate) suspension: u64,
    /// Events release jobs: deadline and response time count from them.
    pub(crate) from_event: bool,
}

/// The reason why there is no such task.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TaskError {
    /// An execution time of 0.
    #[error("the execution time is 0")]
    NoWcet,
    /// A period of 0.
    #[error("the period is 0")]
    NoPeriod,
    /// A deadline of 0.
    #[error("the deadline is 0")]
    NoDeadline,
    /// A time that is longer than [`LONGEST`].
    #[error("{0} is longer than analyses can count: at most {LONGEST}")]
    TooLong(Duration),
}

impl Task {
    /// A task with execution time `C` and period `T`; its deadline `D` is its period.
    ///
    /// # Errors
    ///
    /// See [`TaskError`].
    pub fn new(wcet: Duration, period: Duration) -> Result<Self, TaskError> {
        match (checked(wcet)?, checked(period)?) {
            (0, _) => Err(TaskError::NoWcet),
            (_, 0) => Err(TaskError::NoPeriod),
            (wcet, period) => {
                let (deadline, period) = (period, Divisor::new(period));
                let (jitter, blocking, suspension, from_event) = (0, 0, 0, false);
                Ok(Self { wcet, period, deadline, jitter, blocking, suspension, from_event })
            }
        }
    }

    /// Returns the same task with this execution time.
    pub fn with_wcet(self, wcet: Duration) -> Result<Self, TaskError> {
        match checked(wcet)? {
            0 => Err(TaskError::NoWcet),
            wcet => Ok(Self { wcet, ..self }),
        }
    }

    /// Returns the same task with a deadline `D`, which may be longer than the period.
    pub fn with_deadline(self, deadline: Duration) -> Result<Self, TaskError> {
        match checked(deadline)? {
            0 => Err(TaskError::NoDeadline),
            deadline => Ok(Self { deadline, ..self }),
        }
    }

    /// Returns the same task whose jobs are released up to `J` after they arrive.
    pub fn with_jitter(self, jitter: Duration) -> Result<Self, TaskError> {
        Ok(Self { jitter: checked(jitter)?, ..self })
    }

    /// Returns the same task, whose jobs are released by events: in a window of length `t`, both ends
    /// included, by at most `1 + floor((t + early) / T)`. Deadline and response time count from the
    /// event that releases the job.
    pub fn with_events(self, early: Duration) -> Result<Self, TaskError> {
        Ok(Self { jitter: checked(early)?, from_event: true, ..self })
    }

    /// Returns the same task, for which tasks of lower priority on its VCPU can keep the processor
    /// for `B`: once in a busy period, or if the task suspends itself, in each job, all resumptions
    /// together.
    pub fn with_blocking(self, blocking: Duration) -> Result<Self, TaskError> {
        Ok(Self { blocking: checked(blocking)?, ..self })
    }

    /// Returns the same task, each job of which waits for something other than the processor for up
    /// to `S` in total, at any points of its execution.
    pub fn with_suspension(self, suspension: Duration) -> Result<Self, TaskError> {
        Ok(Self { suspension: checked(suspension)?, ..self })
    }

    /// Returns the same task, each job of which executes for `more` longer. If that is more than
    /// [`LONGEST`], the execution time is [`TOO_LONG`], and the task has no bound.
    #[must_use]
    pub fn with_more_wcet(self, more: Duration) -> Self {
        Self { wcet: self.wcet.saturating_add(more.0).min(TOO_LONG), ..self }
    }

    /// Returns the same task, which is blocked for `more` longer; at most for [`TOO_LONG`].
    #[must_use]
    pub fn with_more_blocking(self, more: Duration) -> Self {
        Self { blocking: self.blocking.saturating_add(more.0).min(TOO_LONG), ..self }
    }

    /// Returns the same task, which executes where it would suspend itself: a task that can be
    /// blocked then executes for that time as well.
    #[must_use]
    pub fn without_suspension(self) -> Self {
        match self.suspension {
            0 => self,
            _ => {
                let waits = Duration(self.suspension + self.blocking);
                Self { suspension: 0, blocking: 0, ..self.with_more_wcet(waits) }
            }
        }
    }

    /// Returns the worst-case execution time: `C`.
    pub fn wcet(&self) -> Duration {
        Duration(self.wcet)
    }

    /// Returns the least time between two arrivals: `T`.
    pub fn period(&self) -> Duration {
        Duration(self.period.get())
    }

    /// Returns the time from arrival to deadline: `D`.
    pub fn deadline(&self) -> Duration {
        Duration(self.deadline)
    }

    /// Returns the longest time from arrival to release: `J`.
    pub fn jitter(&self) -> Duration {
        Duration(self.jitter)
    }

    /// Returns the longest time for which tasks of lower priority keep the processor: `B`.
    pub fn blocking(&self) -> Duration {
        Duration(self.blocking)
    }

    /// Returns the longest time for which one job waits for something else: `S`.
    pub fn suspension(&self) -> Duration {
        Duration(self.suspension)
    }

    /// Returns true if deadline and response time count from events that release jobs.
    pub fn counts_from_event(&self) -> bool {
        self.from_event
    }

    /// Returns the least time from the release of the first of `jobs` jobs to the time from which
    /// the response of the last one counts, and the jitter that is part of that response.
    pub(crate) fn origin(&self, jobs: u64) -> (u64, u64) {
        let spacing = (jobs - 1).saturating_mul(self.period.get());
        match self.from_event {
            true => (spacing.saturating_sub(self.jitter), 0),
            false => (spacing, self.jitter),
        }
    }

    /// Returns the time that each job adds to a window besides its execution: waiting counts like
    /// execution.
    pub(crate) fn extra_per_job(&self) -> u64 {
        if self.suspension == 0 { 0 } else { self.suspension + self.blocking }
    }

    /// Returns the time that the first job adds to a window besides its execution.
    pub(crate) fn extra(&self) -> u64 {
        self.suspension + self.blocking
    }
}

fn checked(time: Duration) -> Result<u64, TaskError> {
    if time > LONGEST { Err(TaskError::TooLong(time)) } else { Ok(time.0) }
}
