//! For how long jobs can be pending: what requests of a window rest on.
//!
//! A job that makes a request in a window was released at most its response time before. In the sound variant this
//! is first taken to be the deadline of each task. Where a bound is above that, the bound takes its place and all is
//! looked at again, until no bound is above what was taken. That is no circle: if a job were pending for longer than
//! was taken, take the first time at which one is; until then none was, and the bound holds for it.
//! Who has no bound is pending for ever, which takes the bounds of those away that count its requests.

use super::Variant;
use super::analyzer::Bound;
use super::system::System;
use crate::window::TOO_LONG;
use crate::{Failure, LONGEST};

/// Rounds after which what is taken grows to the double, so that few more are left.
const PATIENCE: u32 = 32;

/// What is taken of each task.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// [`TOO_LONG`]: it has no bound.
    times: Vec<u64>,
    failures: Vec<Option<Failure>>,
    round: u32,
}

impl Pending {
    /// All tasks are in time; in the published variant, within the period.
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

    /// How long before a window begins a job of this task can be released that makes requests in it, if
    /// anything is known.
    pub fn of(&self, task: usize) -> Option<u64> {
        Some(self.times[task]).filter(|time| *time < TOO_LONG)
    }

    /// Why the task has no bound, if it had none in an earlier round.
    pub fn failure(&self, task: usize) -> Option<Failure> {
        self.failures[task]
    }

    /// Bounds were found with what is taken. Returns true if some are above that: it has grown then.
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
                    // Who waits for each other grows without end.
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

    /// Jobs that enter sections more often than the hypervisor lets their VCPU: those of a VCPU that has
    /// late tasks, if what is let in is not more than tasks that are in time need. Returns true if there are some: they
    /// have no bound then.
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
