//! The limit on what others have to bear each time: entries of a VCPU into global critical sections, and rings of
//! channels between VMs.
//!
//! Each request of a task for a resource can make others wait once more: tasks behind it in the
//! queue, and under vMPCP a VCPU that was about to run. [`crate::lock::hold`] limits how long each
//! section lasts. This module limits how often they begin, by the generic cell rate algorithm
//! (ITU-T I.371): one entry for each *interval*; entries may come *early*, by a limited time in
//! total. Whatever a guest does, a window from one time to another one `t` later, both included,
//! has at most `1 + floor((t + early) / interval)` entries.
//!
//! A task with period `T` that enters a section in each job, and completes it within `D` after the
//! release, is never refused with the interval `T` and `D` early. Of rings, the same holds.

use crate::time::{Duration, Instant};

/// A limit on entries. The caller keeps the time from which on the VCPU may enter; the initial
/// value is [`Rate::START`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rate {
    interval: i64,
    /// Interval less the time that entries may come early.
    rest: i64,
}

impl Rate {
    /// Initial value: the VCPU may enter at any time.
    pub const START: i64 = i64::MIN / 2;

    /// Value for a VCPU that may never enter.
    pub const NEVER: i64 = i64::MAX;

    /// Upper limit on the interval and on the time that entries may come early.
    pub const LONGEST: Duration = Duration(1 << 60);

    /// Makes the limit of one entry for each `interval`, which may come `early` in total. Both are
    /// reduced to at most [`Rate::LONGEST`].
    pub fn new(interval: Duration, early: Duration) -> Self {
        let cut = |time: Duration| time.0.min(Self::LONGEST.0) as i64;
        Self { interval: cut(interval), rest: cut(interval) - cut(early) }
    }

    /// Makes a limit from its [`Rate::parts`].
    #[inline(always)]
    pub const fn from_parts([interval, rest]: [i64; 2]) -> Self {
        Self { interval, rest }
    }

    /// Returns the parts of the limit: the interval, and the interval less the time that entries
    /// may come early.
    pub const fn parts(self) -> [i64; 2] {
        [self.interval, self.rest]
    }

    /// Returns true if a VCPU that may enter from the time `from` on may enter now.
    #[inline(always)]
    pub const fn may_enter(from: i64, now: Instant) -> bool {
        from <= now.0 as i64
    }

    /// Returns the time from which on a VCPU that enters now may enter again.
    #[inline(always)]
    pub fn enter(self, from: i64, now: Instant) -> i64 {
        from.wrapping_add(self.interval).max((now.0 as i64).wrapping_add(self.rest))
    }
}
