//! A VCPU that has its CPU for itself, but not as many memory accesses as it likes: the shortest
//! way from an overflow to a CPU that idles, and back.

use super::{Charge, Cpu, Decision, Event, NEVER, Slot};
use crate::bandwidth::Grants;
use crate::time::{Duration, Instant};

impl Charge {
    /// The same as with others, where the VCPU is of the background class and has a memory
    /// budget: processor time is no matter.
    #[inline(always)]
    pub(super) fn decide_alone(
        &mut self,
        slot: &mut Slot,
        event: Event,
        now: Instant,
        grants: &mut dyn Grants,
    ) -> Decision {
        self.since = now;
        match event {
            Event::Wake(0) => slot.ready = true,
            Event::Block(0) => (slot.ready, slot.recharges) = (false, false),
            _ => {}
        }
        let Some(account) = &mut slot.account else { return Decision::default() };
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
        Decision { run, timer: (timer < NEVER).then_some(timer), stopped_in_gcs: None }
    }
}

/// What becomes of a VCPU alone on its CPU in the two cases that come in each period in which
/// it uses all of its own budget, in as few steps as possible. Where something else is
/// to be considered, nothing changes, and a decision has to be made.
impl<S: AsRef<[Slot]> + AsMut<[Slot]>> Cpu<S> {
    /// The VCPU, which runs, has made so many accesses, at least those that it may make: as
    /// [`Cpu::account`] and then [`Event::Overflow`]. `true`: nothing runs from now on, until the
    /// time that is known from before.
    #[inline(always)]
    pub fn stop_alone(&mut self, accesses: u64, now: Instant) -> bool {
        let Some((slot, budget, _)) = self.own_alone() else { return false };
        let Some(account) = &mut slot.account else { return false };
        let left = account.level;
        // A debt that is less than a budget is paid with the next one.
        if now >= account.until || !(left..left + budget).contains(&(accesses as i64)) {
            return false;
        }
        account.level = left - accesses as i64;
        slot.recharges = true;
        self.charge =
            Charge { slot: None, since: now, budget: Duration::ZERO, run: None, ..self.charge };
        true
    }

    /// Time has passed for the VCPU, which waits for accesses: as [`Event::Tick`]. How many it may
    /// make, which runs from now on, and until when.
    #[inline(always)]
    pub fn resume_alone(&mut self, now: Instant) -> Option<(u64, Instant)> {
        let (slot, budget, period) = self.own_alone()?;
        let account = slot.account.as_mut().filter(|_| slot.recharges)?;
        let end = account.until + period;
        let level = account.level + budget;
        if now < account.until || now >= end || level <= 0 {
            return None;
        }
        (account.level, account.until) = (level, end);
        slot.recharges = false;
        let run = Some(0);
        self.charge =
            Charge { slot: run, since: now, budget: Duration(u64::MAX), run, ..self.charge };
        Some((level as u64, end))
    }

    /// The VCPU alone on its CPU, its own budget and the period of that.
    #[inline(always)]
    fn own_alone(&mut self) -> Option<(&mut Slot, i64, Duration)> {
        if !self.alone {
            return None;
        }
        let [slot] = self.slots.as_mut() else { return None };
        let (budget, period) = slot.account.as_ref()?.own_budget()?;
        Some((slot, budget, period))
    }
}
