//! Grants: parts of the budget of a VM for its VCPUs.

use crate::time::Instant;

/// Accesses from the budget of a VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Grant {
    /// Number of accesses; 0: nothing is left.
    pub accesses: u64,
    /// Time at which the grant expires, and a VCPU can ask again.
    pub until: Instant,
}

/// The budgets of VMs as the VCPUs of a CPU see them.
pub trait Grants {
    /// The VCPU is to run and requests accesses: at least as many as its debt.
    fn take(&mut self, vcpu: usize, debt: u64, now: Instant) -> Grant;

    /// The VCPU no longer runs and returns the rest of its grant.
    fn give_back(&mut self, vcpu: usize, rest: Grant);
}

/// No grants: for CPUs whose VCPUs have budgets of their own, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGrants;

impl Grants for NoGrants {
    fn take(&mut self, _: usize, _: u64, _: Instant) -> Grant {
        Grant { accesses: 0, until: Instant(u64::MAX) }
    }

    fn give_back(&mut self, _: usize, _: Grant) {}
}
