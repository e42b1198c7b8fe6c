//! The choice among the tasks of a VCPU.
//!
//! Tasks have fixed priorities and are numbered by them, 0 is the highest. The ready task with the
//! highest priority runs.

/// Maximum number of tasks of a VCPU.
pub const TASKS_MAX: usize = 64;

/// The tasks of a VCPU that are ready.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct ReadyTasks(u64);

impl ReadyTasks {
    /// Makes the task ready. Numbers from [`TASKS_MAX`] on are ignored.
    #[inline]
    pub fn insert(&mut self, task: usize) {
        self.0 |= bit(task);
    }

    /// The task is no longer ready.
    #[inline]
    pub fn remove(&mut self, task: usize) {
        self.0 &= !bit(task);
    }

    /// Returns true if the task is ready.
    #[inline]
    pub fn contains(self, task: usize) -> bool {
        self.0 & bit(task) != 0
    }

    /// Returns true if no task is ready, so that the VCPU waits.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the task that runs when the VCPU does.
    #[inline]
    pub fn highest(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }

    /// Returns the task that runs when the VCPU does and the tasks in `raised` are in global
    /// critical sections. These come before all others (the task-level ceiling of vMPCP,
    /// `pi_B + pi_i`).
    #[inline]
    pub fn highest_raised(self, raised: Self) -> Option<usize> {
        Self(self.0 & raised.0).highest().or(self.highest())
    }
}

#[inline]
fn bit(task: usize) -> u64 {
    if task < TASKS_MAX { 1 << task } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_task_with_the_lowest_number_runs() {
        let mut ready = ReadyTasks::default();
        assert_eq!(ready.highest(), None);
        for task in [63, 5, 17, 64, 5] {
            ready.insert(task);
        }
        let mut order = Vec::new();
        while let Some(task) = ready.highest() {
            order.push(task);
            ready.remove(task);
        }
        assert_eq!(order, [5, 17, 63]);
        assert!(ready.is_empty());
    }
}
