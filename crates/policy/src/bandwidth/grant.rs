//! How VCPUs get accesses of the budget that their VM has.

use crate::time::Instant;

/// Accesses from the budget of a VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Grant {
    /// How many; 0: nothing is left.
    pub accesses: u64,
    /// When it ends, and one can ask again.
    pub until: Instant,
}

/// The budgets of VMs as the VCPUs of a CPU see them.
pub trait Grants {
    /// The VCPU is to run and asks for accesses: for so many as it owes, and for more.
    fn take(&mut self, vcpu: usize, debt: u64, now: Instant) -> Grant;

    /// The VCPU does not run any more and does not need what is left of its grant.
    fn give_back(&mut self, vcpu: usize, rest: Grant);
}

/// For CPUs whose VCPUs have budgets of their own, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGrants;

impl Grants for NoGrants {
    fn take(&mut self, _: usize, _: u64, _: Instant) -> Grant {
        Grant { accesses: 0, until: Instant(u64::MAX) }
    }

    fn give_back(&mut self, _: usize, _: Grant) {}
}
