//! How often a VCPU may enter global critical sections.
//!
//! Each time that one of its tasks asks for a resource, others can have to wait once more: tasks behind it
//! in the queue, and under vMPCP a VCPU that was about to run. How long each time lasts is limited
//! by [`super::hold`]; how often is limited here, by the generic cell rate algorithm (ITU-T I.371): one entry
//! for each *interval*, of which some may come *early*, together by so much. Whatever a guest does, a window
//! from one time to another one `t` later, both included, has at most `1 + floor((t + early) / interval)`
//! entries.
//!
//! A task with period `T` that enters a section in each job, and is done with it within `D` of the release,
//! is never refused with the interval `T` and `D` early.

use crate::time::{Duration, Instant};

/// How often. The time from which on the VCPU may enter is kept by who asks: [`Rate::START`] at first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rate {
    interval: i64,
    /// The interval less what may come early.
    rest: i64,
}

impl Rate {
    /// From which time on a VCPU may enter that has not entered yet: from any.
    pub const START: i64 = i64::MIN / 2;

    /// From which time on a VCPU may enter that may not at all.
    pub const NEVER: i64 = i64::MAX;

    /// Longest interval and most that entries may come early.
    pub const LONGEST: Duration = Duration(1 << 60);

    /// One entry for each `interval`, together `early` before that; both at most [`Rate::LONGEST`], to which
    /// they are cut.
    pub fn new(interval: Duration, early: Duration) -> Self {
        let cut = |time: Duration| time.0.min(Self::LONGEST.0) as i64;
        Self { interval: cut(interval), rest: cut(interval) - cut(early) }
    }

    /// The same from its [`Rate::parts`].
    #[inline(always)]
    pub const fn from_parts([interval, rest]: [i64; 2]) -> Self {
        Self { interval, rest }
    }

    /// What it is made of: the interval, and what is left of it without what may come early.
    pub const fn parts(self) -> [i64; 2] {
        [self.interval, self.rest]
    }

    /// Whether a VCPU may enter that may from the time `from` on.
    #[inline(always)]
    pub const fn may_enter(from: i64, now: Instant) -> bool {
        from <= now.0 as i64
    }

    /// From which time on the VCPU may enter again that enters now.
    #[inline(always)]
    pub fn enter(self, from: i64, now: Instant) -> i64 {
        from.wrapping_add(self.interval).max((now.0 as i64).wrapping_add(self.rest))
    }
}
