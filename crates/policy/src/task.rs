//! Inside a VCPU: which of its tasks runs.
//!
//! Tasks have fixed priorities and are numbered by them, 0 the highest. The ready
//! task with the highest priority runs.

/// Most tasks of a VCPU.
pub const TASKS_MAX: usize = 64;

/// The tasks of a VCPU that are ready.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct ReadyTasks(u64);

impl ReadyTasks {
    /// The task has a job to do. Numbers from [`TASKS_MAX`] on are ignored.
    #[inline]
    pub fn insert(&mut self, task: usize) {
        self.0 |= bit(task);
    }

    /// The task has nothing to do.
    #[inline]
    pub fn remove(&mut self, task: usize) {
        self.0 &= !bit(task);
    }

    /// Whether the task is ready.
    #[inline]
    pub fn contains(self, task: usize) -> bool {
        self.0 & bit(task) != 0
    }

    /// Whether no task is ready: the VCPU has nothing to do.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The task that runs when the VCPU does.
    #[inline]
    pub fn highest(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }

    /// The task that runs when the VCPU does and those of `raised` are in global critical sections:
    /// they come before all others (the task-level ceiling of vMPCP, `pi_B + pi_i`).
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
