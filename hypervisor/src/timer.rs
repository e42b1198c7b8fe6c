//! The hypervisor's timer of one CPU, for several purposes.

use core::sync::atomic::{AtomicU64, Ordering};

/// The purpose of a deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// Lines on the console that stay incomplete.
    Console,
    /// The next sample of the address space in which a guest is.
    Sampling,
    /// News for the other end of a serial line or of a link that a VCPU was not allowed to tell before.
    Telling,
    /// The virtual timer of a VCPU that waits and is not loaded.
    Alarm,
    /// The next decision which VCPU runs.
    Scheduling,
}

/// Number of purposes.
const PURPOSES: usize = 5;

/// No deadline: the end of time.
pub const NEVER: u64 = u64::MAX;

/// Absolute deadlines in counter ticks, one for each purpose. Only their own CPU uses them.
#[derive(Debug)]
pub struct Deadlines {
    each: [AtomicU64; PURPOSES],
    /// The first of those that change rarely: all but the last two.
    rare: AtomicU64,
}

impl Deadlines {
    /// No deadlines.
    pub const fn none() -> Self {
        Self { each: [const { AtomicU64::new(NEVER) }; PURPOSES], rare: AtomicU64::new(NEVER) }
    }

    /// Sets the deadline of a purpose.
    #[inline(always)]
    pub fn set(&self, purpose: Purpose, deadline: u64) {
        self.each[purpose as usize].store(deadline, Ordering::Relaxed);
        if !matches!(purpose, Purpose::Alarm | Purpose::Scheduling) {
            self.set_rare();
        }
    }

    #[inline(never)]
    fn set_rare(&self) {
        use Purpose::{Console, Sampling, Telling};
        let first = self.of(Console).min(self.of(Sampling)).min(self.of(Telling));
        self.rare.store(first, Ordering::Relaxed);
    }

    /// The deadline of a purpose, or [`NEVER`].
    #[inline(always)]
    pub fn of(&self, purpose: Purpose) -> u64 {
        self.each[purpose as usize].load(Ordering::Relaxed)
    }

    /// Takes the deadline of a purpose if it has passed. Returns true if it has.
    #[inline(always)]
    pub fn take(&self, purpose: Purpose, now: u64) -> bool {
        let due = self.of(purpose) <= now;
        if due {
            self.set(purpose, NEVER);
        }
        due
    }

    /// The first deadline, or [`NEVER`].
    #[inline(always)]
    pub fn first(&self) -> u64 {
        // Not a loop: it runs whenever VCPUs take turns.
        let rare = self.rare.load(Ordering::Relaxed);
        rare.min(self.of(Purpose::Alarm)).min(self.of(Purpose::Scheduling))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_one_after_the_other() {
        let deadlines = Deadlines::none();
        assert_eq!(deadlines.first(), NEVER);
        deadlines.set(Purpose::Sampling, 100);
        deadlines.set(Purpose::Console, 200);
        assert_eq!((deadlines.first(), deadlines.take(Purpose::Sampling, 99)), (100, false));
        assert!(deadlines.take(Purpose::Sampling, 100));
        assert!(!deadlines.take(Purpose::Sampling, 100), "once");
        assert_eq!((deadlines.first(), deadlines.of(Purpose::Console)), (200, 200));
        deadlines.set(Purpose::Console, 50);
        deadlines.set(Purpose::Alarm, 60);
        assert!(deadlines.take(Purpose::Console, 70) && deadlines.take(Purpose::Alarm, 70));
        assert_eq!(deadlines.first(), NEVER);
    }
}
