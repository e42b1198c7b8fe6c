//! The accesses that VCPUs took from the budgets of their VMs, as recorded.

use policy::bandwidth::{Grant, Grants};
use policy::time::Instant;

use super::{Memory, Planned};
use crate::{Entry, Event, VcpuId};

/// The grants behind an input, in their order.
pub struct Recorded<'a> {
    planned: &'a [Planned],
    /// Start of the first period of all budgets.
    start: u64,
    next: &'a [Entry],
    /// The VCPU that requested a grant that was not recorded.
    wrong: Option<VcpuId>,
}

impl<'a> Recorded<'a> {
    pub fn new(planned: &'a [Planned], start: u64, next: &'a [Entry]) -> Self {
        Self { planned, start, next, wrong: None }
    }

    /// Returns an error if the grants that were taken are not those recorded: the VCPU of the first
    /// difference.
    pub fn all_taken(self) -> Result<(), VcpuId> {
        match (self.wrong, self.next) {
            (Some(vcpu), _) => Err(vcpu),
            (None, [Entry { event: Event::Grant { vcpu, .. }, .. }, ..]) => Err(*vcpu),
            _ => Ok(()),
        }
    }

    /// End of the period in which a time lies, of a budget with this period.
    fn end(&self, period: u64, now: u64) -> u64 {
        match now.checked_sub(self.start) {
            None => self.start,
            Some(since) => self.start + (since / period.max(1) + 1) * period,
        }
    }
}

impl Grants for Recorded<'_> {
    fn take(&mut self, vcpu: usize, _debt: u64, now: Instant) -> Grant {
        let planned = self.planned.get(vcpu);
        if let Some(&Planned { vcpu, memory: Some(Memory::Shared(period)), .. }) = planned {
            if let [entry, next @ ..] = self.next
                && let Event::Grant { vcpu: id, accesses, later } = entry.event
                && id == vcpu
            {
                self.next = next;
                let end = self.end(period, now.0) + if later { period } else { 0 };
                return Grant { accesses, until: Instant(end) };
            }
            self.wrong = self.wrong.or(Some(vcpu));
        }
        Grant { accesses: 0, until: Instant(u64::MAX) }
    }

    fn give_back(&mut self, _: usize, _: Grant) {}
}
