//! The limit on the time that a VCPU executes in global critical sections without a pause.
//!
//! While a task is in such a section others wait: for its resource, and under vMPCP for its VCPU,
//! which runs before them. Analyses bound this delay by the lengths of the sections. A task
//! requests a resource only while its VCPU executes outside of sections, because tasks inside have
//! priority. So between two such times each task of the VCPU is in at most one section, and the
//! VCPU executes in sections for no more than `ght` (vMPCP, Eq. 1: the sum, over its tasks, of the
//! longest global section). This module enforces that limit, whatever a guest does.

use crate::time::Duration;

/// The time that a VCPU may execute in global critical sections until it executes outside again.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Hold {
    limit: Duration,
    used: Duration,
}

impl Hold {
    /// No limit.
    pub const UNLIMITED: Self = Self::new(Duration(u64::MAX));

    /// Sections of a VCPU end when it has executed in them for `limit`.
    pub const fn new(limit: Duration) -> Self {
        Self { limit, used: Duration::ZERO }
    }

    /// Returns true if there is a limit.
    pub fn is_limited(&self) -> bool {
        self.limit.0 != u64::MAX
    }

    /// The VCPU executed in sections for this time.
    pub fn charge(&mut self, executed: Duration) {
        self.used += executed;
    }

    /// The VCPU executed outside of sections.
    pub fn reset(&mut self) {
        self.used = Duration::ZERO;
    }

    /// Returns true if the VCPU has executed in sections since it last executed outside.
    pub fn is_used(&self) -> bool {
        self.used != Duration::ZERO
    }

    /// Returns the remaining time.
    pub fn left(&self) -> Duration {
        self.limit - self.used
    }

    /// Returns true if no time remains.
    pub fn is_over(&self) -> bool {
        self.left() == Duration::ZERO
    }
}
