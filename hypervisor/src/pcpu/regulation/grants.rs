//! VCPUs of this PCPU take accesses from the budgets of their VMs.

use abi::trace::{GRANT_LATER, Kind};
use policy::bandwidth::{Grant, Grants};
use policy::time::Instant;

use crate::pcpu::{Assignment, Pcpu};

/// The budgets of the VMs whose VCPUs this PCPU runs. The lock of one is held for a constant number
/// of instructions.
pub(super) struct Pools {
    pub pcpu: &'static Pcpu,
    /// The time at which the first period of all budgets starts.
    pub start: u64,
}

impl Pools {
    fn assignment(&self, slot: usize) -> Option<&'static Assignment> {
        self.pcpu.assignments().get(slot)
    }
}

impl Grants for Pools {
    #[inline(never)]
    fn take(&mut self, slot: usize, debt: u64, now: Instant) -> Grant {
        let at = self.assignment(slot);
        let Some((at, pool)) = at.and_then(|at| Some((at, at.vm.pool.get()?))) else {
            return Grant { accesses: 0, until: Instant(u64::MAX) };
        };
        let grant = pool.lock().take(debt, now);
        // Other CPUs can be in the next period already.
        let period = at.vm.plan.memory_budget.map_or(0, |it| it.budget.period.0);
        let is_later = now.0 >= self.start && (grant.until - now).0 > period;
        let later = if is_later { GRANT_LATER } else { 0 };
        self.pcpu.record_rare(now.0, Some(at), Kind::Grant, grant.accesses | later);
        grant
    }

    #[inline(never)]
    fn give_back(&mut self, slot: usize, rest: Grant) {
        if let Some(pool) = self.assignment(slot).and_then(|at| at.vm.pool.get()) {
            pool.lock().give_back(rest);
        }
    }
}
