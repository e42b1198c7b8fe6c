//! How long a VCPU may execute in global critical sections at a stretch.
//!
//! While a task is in such a section others wait: for its resource, and under vMPCP for its VCPU,
//! which goes before them. Analyses bound this by the lengths of the sections. A task asks for a
//! resource only while its VCPU executes outside of sections, because there it comes behind all that
//! are inside. So between two such times each task of the VCPU is in one section at most, and the
//! VCPU executes in sections for no more than `ght` (vMPCP, Eq. 1: for each task its longest global
//! section, all added up). That is what is held here, whatever a guest does.

use crate::time::Duration;

/// What a VCPU may execute in global critical sections until it executes outside again.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Hold {
    limit: Duration,
    used: Duration,
}

impl Hold {
    /// No limit.
    pub const UNLIMITED: Self = Self::new(Duration(u64::MAX));

    /// Once it has executed in sections for so long, it is in none any more.
    pub const fn new(limit: Duration) -> Self {
        Self { limit, used: Duration::ZERO }
    }

    /// Whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.limit.0 != u64::MAX
    }

    /// It executed in sections for so long.
    pub fn charge(&mut self, executed: Duration) {
        self.used += executed;
    }

    /// It executed outside.
    pub fn reset(&mut self) {
        self.used = Duration::ZERO;
    }

    /// Whether it has executed in sections since it executed outside.
    pub fn is_used(&self) -> bool {
        self.used != Duration::ZERO
    }

    /// What is left.
    pub fn left(&self) -> Duration {
        self.limit - self.used
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.left() == Duration::ZERO
    }
}
