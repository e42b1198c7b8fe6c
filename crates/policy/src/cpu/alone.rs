//! A VCPU that has its CPU for itself, but a memory budget: the shortest path from an overflow to
//! an idle CPU, and back.

use super::charge::Charge;
use super::choice::{Choice, NOBODY};
use super::{Event, NEVER, Slot};
use crate::bandwidth::Grants;
use crate::time::{Duration, Instant};

impl Charge {
    /// [`Charge::step_as`] for a VCPU of the background class with a memory budget: processor time
    /// does not matter.
    #[inline(always)]
    pub(super) fn step_alone(
        &mut self,
        slot: &mut Slot,
        event: Event,
        now: Instant,
        grants: &mut dyn Grants,
    ) -> Choice {
        self.since = now;
        match event {
            Event::Wake(0) => slot.ready = true,
            Event::Block(0) => (slot.ready, slot.recharges) = (false, false),
            Event::EnterGcs(0) => slot.in_gcs = true,
            Event::LeaveGcs(0) => slot.in_gcs = false,
            _ => {}
        }
        let Some(account) = &mut slot.account else {
            return Choice { run: NOBODY, timer: NEVER };
        };
        account.advance(now);
        let (mut run, mut timer) = (None, NEVER);
        if slot.ready {
            account.fill(0, now, grants);
            let end = account.recharge();
            slot.recharges = end.is_some();
            timer = end.unwrap_or(account.until());
            run = end.is_none().then_some(0);
        } else if let Some(rest) = account.take_rest() {
            grants.give_back(0, rest);
        }
        (self.slot, self.run) = (run, run);
        self.budget = if run.is_some() { Duration(u64::MAX) } else { Duration::ZERO };
        Choice { run: run.unwrap_or(NOBODY), timer }
    }
}
