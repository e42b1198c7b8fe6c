//! Decisions as registers hold them.

use super::{Decision, NEVER};
use crate::time::Instant;

/// A [`Decision`] in two words, which fit into registers; [`NOBODY`] and [`NEVER`] mean none.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub(super) run: usize,
    pub(super) timer: Instant,
}

impl Choice {
    #[inline(always)]
    pub(super) fn decision(self) -> Decision {
        Decision {
            run: (self.run != NOBODY).then_some(self.run),
            timer: (self.timer < NEVER).then_some(self.timer),
        }
    }
}

/// No VCPU.
pub(super) const NOBODY: usize = usize::MAX;
