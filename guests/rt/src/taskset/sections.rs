//! Critical sections in a task set: the tasks that wait, and the tasks that go first.
//!
//! A task that waits for a global resource suspends: others run meanwhile. One that holds a global
//! resource comes before all that do not (vMPCP, section III.A). The resources of one processor follow
//! the priority ceiling protocol.

use policy::lock::LockError;

use super::TaskSet;

impl TaskSet {
    /// The task uses this resource of its processor. To be told before anything is locked.
    pub fn use_local(&mut self, index: usize, resource: usize) {
        if let Some(rank) = self.rank(index) {
            self.local.use_by(rank, resource);
        }
    }

    /// The task asks for a resource of its processor: whether it gets it. Otherwise another task runs in
    /// its place ([`TaskSet::ready`]), and it asks again when it is to run the next time.
    pub fn lock_local(&mut self, index: usize, resource: usize) -> Result<bool, LockError> {
        let rank = self.rank(index).ok_or(LockError::NotOpen)?;
        self.local.lock(rank, resource)
    }

    /// The task releases a resource of its processor.
    pub fn unlock_local(&mut self, index: usize, resource: usize) -> Result<(), LockError> {
        let rank = self.rank(index).ok_or(LockError::NotOwner)?;
        self.local.unlock(rank, resource)
    }

    /// The task waits for a global resource: it runs no more.
    pub fn suspend(&mut self, index: usize) {
        if let Some(rank) = self.rank(index) {
            self.ready.remove(rank);
        }
    }

    /// The task no longer waits for a global resource, and does not hold it.
    pub fn resume(&mut self, index: usize) {
        if let Some(rank) = self.rank(index) {
            self.ready.insert(rank);
        }
    }

    /// The task holds a global resource, for which it may have waited.
    pub fn raise(&mut self, index: usize) {
        if let Some(rank) = self.rank(index) {
            self.ready.insert(rank);
            self.raised.insert(rank);
        }
    }

    /// The task holds a global resource no more.
    pub fn lower(&mut self, index: usize) {
        if let Some(rank) = self.rank(index) {
            self.raised.remove(rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::taskset::Parameters;
    use crate::time::Clock;

    const LOW: usize = 0;
    const MEDIUM: usize = 1;
    const HIGH: usize = 2;

    /// The tasks in an order that is not that of their priorities; jobs of all are released.
    fn released() -> TaskSet {
        let period = Duration::from_micros(100);
        let tasks = [("low", 1), ("medium", 2), ("high", 3)].map(|(name, priority)| Parameters {
            name,
            period,
            offset: Duration::ZERO,
            deadline: period,
            priority,
        });
        let mut set = TaskSet::new(tasks, Clock::new(1_000_000), 0, 100).expect("three tasks");
        while set.release(0).is_some() {}
        set
    }

    #[test]
    fn ranks_go_by_priority() {
        let set = released();
        assert_eq!([LOW, MEDIUM, HIGH].map(|it| set.rank(it)), [Some(2), Some(1), Some(0)]);
        assert_eq!([0, 1, 2].map(|it| set.with_rank(it)), [Some(HIGH), Some(MEDIUM), Some(LOW)]);
    }

    #[test]
    fn who_waits_lets_others_run_and_who_gets_it_goes_first() {
        let mut set = released();
        set.suspend(HIGH);
        assert_eq!(set.ready(), Some(MEDIUM));
        set.raise(LOW);
        assert_eq!(set.ready(), Some(LOW), "it is in a global section");
        set.raise(HIGH);
        assert_eq!(set.ready(), Some(HIGH), "both are");
        set.lower(HIGH);
        assert_eq!(set.ready(), Some(LOW));
        set.lower(LOW);
        assert_eq!(set.ready(), Some(HIGH));
        assert!(!set.is_finished(2));
    }

    #[test]
    fn a_task_that_waits_has_a_job_to_finish() {
        let mut set = released();
        for task in [HIGH, MEDIUM] {
            set.complete(task, 1);
        }
        set.suspend(LOW);
        assert_eq!(set.ready(), None);
        assert!(!set.is_finished(2));
        set.raise(LOW);
        set.lower(LOW);
        set.complete(LOW, 2);
        assert!(set.is_finished(2));
    }

    #[test]
    fn local_resources_follow_the_priority_ceiling_protocol() {
        let mut set = released();
        for task in [LOW, HIGH] {
            set.use_local(task, 0);
        }
        assert_eq!(set.lock_local(LOW, 1), Err(LockError::NotOpen), "it did not say so");
        assert_eq!(set.lock_local(LOW, 0), Ok(true));
        assert_eq!(set.lock_local(HIGH, 0), Ok(false));
        assert_eq!(set.ready(), Some(LOW), "it inherits");
        assert_eq!(set.unlock_local(HIGH, 0), Err(LockError::NotOwner));
        assert_eq!(set.unlock_local(LOW, 0), Ok(()));
        assert_eq!(set.ready(), Some(HIGH));
        assert_eq!(set.lock_local(HIGH, 0), Ok(true), "it asks again");
    }
}
