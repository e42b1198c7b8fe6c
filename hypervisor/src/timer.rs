//! The hypervisor's timer of one CPU, for several purposes.

use core::sync::atomic::{AtomicU64, Ordering};

/// What a deadline is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// Lines on the console that stay incomplete.
    Console,
    /// Which address space a guest is in.
    Sampling,
    /// The virtual timer of a VCPU that waits and is not loaded.
    Alarm,
    /// The next decision which VCPU runs.
    Scheduling,
}

impl Purpose {
    const ALL: [Self; 4] = [Self::Console, Self::Sampling, Self::Alarm, Self::Scheduling];
}

/// No deadline: the end of time.
pub const NEVER: u64 = u64::MAX;

/// Absolute deadlines in counter ticks, one for each purpose. Only their own CPU uses them.
#[derive(Debug)]
pub struct Deadlines([AtomicU64; Purpose::ALL.len()]);

impl Deadlines {
    /// No deadlines.
    pub const fn none() -> Self {
        Self([const { AtomicU64::new(NEVER) }; Purpose::ALL.len()])
    }

    /// Sets the deadline of a purpose.
    pub fn set(&self, purpose: Purpose, deadline: u64) {
        self.0[purpose as usize].store(deadline, Ordering::Relaxed);
    }

    /// The deadline of a purpose, or [`NEVER`].
    pub fn of(&self, purpose: Purpose) -> u64 {
        self.0[purpose as usize].load(Ordering::Relaxed)
    }

    /// Takes a deadline that has passed; returns what it was for.
    pub fn take_due(&self, now: u64) -> Option<Purpose> {
        let due = |purpose: &Purpose| self.of(*purpose) <= now;
        let purpose = Purpose::ALL.into_iter().find(due)?;
        self.set(purpose, NEVER);
        Some(purpose)
    }

    /// The first deadline, if there is one.
    pub fn first(&self) -> Option<u64> {
        let first = self.0.iter().map(|deadline| deadline.load(Ordering::Relaxed)).min()?;
        (first != NEVER).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_one_after_the_other() {
        let deadlines = Deadlines::none();
        assert_eq!((deadlines.first(), deadlines.take_due(NEVER - 1)), (None, None));
        deadlines.set(Purpose::Sampling, 100);
        deadlines.set(Purpose::Console, 200);
        assert_eq!((deadlines.first(), deadlines.take_due(99)), (Some(100), None));
        assert_eq!(deadlines.take_due(100), Some(Purpose::Sampling));
        assert_eq!((deadlines.first(), deadlines.take_due(199)), (Some(200), None));
        deadlines.set(Purpose::Console, 50);
        deadlines.set(Purpose::Sampling, 60);
        assert_eq!(deadlines.take_due(70), Some(Purpose::Console));
        assert_eq!(deadlines.take_due(70), Some(Purpose::Sampling));
        assert_eq!((deadlines.take_due(70), deadlines.first()), (None, None));
    }
}
