//! Pending times: the times for which jobs can be pending, which limit the requests of a window.
//!
//! A job that makes a request in a window was released at most its response time before. In the
//! sound variant the assumed time is first the deadline of each task. If a bound is above the
//! assumed time, the bound replaces it and the analysis is repeated, until no bound is above the
//! assumed times. This is not circular: suppose that a job is pending for longer than assumed, and
//! take the first time at which one is; until then none was, and the bound holds for that job.
//!
//! A task without a bound is pending for ever, which removes the bounds of the tasks that count its
//! requests.

use super::bound::Bound;
use super::protocol::Variant;
use super::system::System;
use crate::window::TOO_LONG;
use crate::{Failure, LONGEST};

/// Number of rounds after which assumed times double, so that few more rounds follow.
const PATIENCE: u32 = 32;

/// The assumed pending time of each task.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// [`TOO_LONG`]: the task has no bound.
    times: Vec<u64>,
    failures: Vec<Option<Failure>>,
    round: u32,
}

impl Pending {
    /// Starts with the assumption that all tasks are in time; in the published variant, within the
    /// period.
    pub fn start(&mut self, system: &System, variant: Variant) {
        self.times.clear();
        self.times.extend(system.tasks.iter().map(|task| match variant {
            // `ceil(t / T) + 1`.
            Variant::Published => task.period.get(),
            Variant::Sound => task.deadline,
        }));
        self.failures.clear();
        self.failures.resize(system.tasks.len(), None);
        self.round = 0;
    }

    /// Returns how long before a window a job of this task that makes requests in the window can
    /// have been released, if known.
    pub fn of(&self, task: usize) -> Option<u64> {
        Some(self.times[task]).filter(|time| *time < TOO_LONG)
    }

    /// Returns the reason why the task has no bound, if it had none in an earlier round.
    pub fn failure(&self, task: usize) -> Option<Failure> {
        self.failures[task]
    }

    /// Takes the bounds of a round. Returns true if some are above the assumed times, which have
    /// grown then.
    pub fn grow(&mut self, system: &System, bounds: &[Result<Bound, Failure>]) -> bool {
        self.round += 1;
        let mut grown = false;
        for (index, (task, bound)) in system.tasks.iter().zip(bounds).enumerate() {
            let taken = &mut self.times[index];
            let before = *taken;
            match bound {
                Ok(bound) if bound.time.0 <= before => {}
                Ok(bound) if self.round < PATIENCE => *taken = bound.time.0.min(TOO_LONG),
                Ok(bound) => *taken = bound.time.0.saturating_mul(2).clamp(before, LONGEST.0),
                Err(failure) => {
                    // Tasks that wait for each other grow without end.
                    let endless =
                        self.round >= PATIENCE && matches!(failure, Failure::Overflow { .. });
                    let others = Failure::Others { task: index };
                    self.fail(index, if endless { others } else { *failure });
                }
            }
            grown |= self.times[index] > before && task.global + task.local > 0;
        }
        grown
    }

    /// Finds jobs that enter sections more often than the hypervisor allows their VCPU: those of a
    /// VCPU with late tasks, if the limit is not above the needs of tasks that are in time. Returns
    /// true if there are some: they have no bound then.
    pub fn refuse(&mut self, system: &System, bounds: &[Result<Bound, Failure>]) -> bool {
        let mut refused = false;
        for vcpu in &system.vcpus {
            let Some(guest) = &vcpu.guest else { continue };
            let enters = |task: &usize| system.tasks[*task].longest > 0;
            let tasks = || vcpu.tasks.clone().filter(enters);
            let time = |task: usize| bounds[task].map_or(TOO_LONG, |bound| bound.time.0);
            let in_time = tasks().all(|it| time(it) <= system.tasks[it].deadline);
            let entries = tasks().map(|it| {
                let task = &system.tasks[it];
                (task.sections.len() as u64, task.period.get(), time(it))
            });
            if in_time || guest.lets_in(entries) {
                continue;
            }
            for task in tasks().filter(|it| bounds[*it].is_ok()) {
                self.fail(task, Failure::Refused { task });
                refused = true;
            }
        }
        refused
    }

    fn fail(&mut self, task: usize, failure: Failure) {
        self.times[task] = TOO_LONG;
        self.failures[task].get_or_insert(failure);
    }
}
