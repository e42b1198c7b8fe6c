//! The state of the scheduler, and what an event does to it before the next VCPU is chosen.

use super::choice::Choice;
use super::{Event, Slot};
use crate::bandwidth::{Grants, NoGrants};
use crate::time::{Duration, Instant};

/// The VCPU whose budget decreases, and the state of the scheduler.
///
/// The functions that decide are here and not generic, so that they are compiled once.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Charge {
    pub(super) slot: Option<usize>,
    /// Time until which all VCPUs have been charged.
    pub(super) since: Instant,
    /// Additional charge of a VCPU that blocks.
    pub(super) switch: Duration,
    /// Charge of a kick.
    pub(super) kick: Duration,
    /// The budget at `since` of the VCPU that was to run.
    pub(super) budget: Duration,
    /// The VCPU that is to run; only kept if a VCPU has a memory budget.
    pub(super) run: Option<usize>,
    /// VCPUs in global critical sections come before the others.
    pub(super) ceilings: bool,
    /// There is only one VCPU, of the background class and with a memory budget.
    pub(super) alone: bool,
    /// Number of VCPUs that are in sections or have not executed outside since; plus [`REGULATED`]
    /// if a VCPU has a memory budget. 0 is the usual case, which takes the fewest steps.
    pub(super) unusual: usize,
    /// Nothing was decided since the running VCPU entered its section, and no other VCPU is in one.
    pub(super) undisturbed: bool,
    /// Time at which that VCPU entered its section.
    pub(super) entered: Instant,
    /// 1 + the VCPU of [`News::StoppedInGcs`] that was not told yet; 0: none.
    pub(super) stopped: u64,
    /// The VCPUs of [`News::EndedGcs`] that were not told yet: bit `i` is VCPU `i`.
    pub(super) overheld: u64,
}

impl Charge {
    /// [`Cpu::step`] for CPUs without memory budgets.
    #[inline(never)]
    pub(super) fn step_unregulated(
        &mut self,
        slots: &mut [Slot],
        event: Event,
        now: Instant,
    ) -> Choice {
        if self.unusual > 0 {
            return self.step_unusual(slots, event, now, &mut NoGrants);
        }
        self.step_as::<false>(slots, event, now, &mut NoGrants)
    }

    /// [`Cpu::step`] if VCPUs may have memory budgets or be in global critical sections.
    #[inline(never)]
    pub(super) fn step_unusual(
        &mut self,
        slots: &mut [Slot],
        event: Event,
        now: Instant,
        grants: &mut dyn Grants,
    ) -> Choice {
        if self.alone
            && let [only] = &mut *slots
        {
            return self.step_alone(only, event, now, grants);
        }
        self.step_as::<true>(slots, event, now, grants)
    }

    /// [`Cpu::step`]. `UNUSUAL`: a VCPU may have a memory budget or be in a section; the usual case
    /// needs fewer steps.
    #[inline(always)]
    fn step_as<const UNUSUAL: bool>(
        &mut self,
        slots: &mut [Slot],
        event: Event,
        now: Instant,
        grants: &mut dyn Grants,
    ) -> Choice {
        let mut now = now.max(self.since);
        if let Event::Block(vcpu) = event
            && self.slot == Some(vcpu)
        {
            now += self.switch;
        }
        if UNUSUAL {
            self.settle_inside(slots, now);
        } else {
            self.settle::<false>(slots, now);
        }
        match event {
            Event::Wake(vcpu) => {
                if let Some(slot) = slots.get_mut(vcpu)
                    && !slot.ready
                {
                    slot.ready = true;
                    slot.server.wake(now);
                    if slot.in_gcs {
                        slot.enter_gcs(now);
                    }
                }
            }
            Event::Block(vcpu) => {
                if let Some(slot) = slots.get_mut(vcpu) {
                    slot.ready = false;
                    if slot.in_gcs {
                        self.wait_in_gcs(vcpu, slot);
                    }
                    if UNUSUAL {
                        slot.recharges = false;
                    }
                }
            }
            Event::EnterGcs(vcpu) | Event::LeaveGcs(vcpu) => {
                if !UNUSUAL {
                    // The sections make the case unusual. No time is left to charge.
                    return self.step_unusual(slots, event, now, grants);
                }
                let inside = matches!(event, Event::EnterGcs(_));
                self.change_gcs(slots, vcpu, inside, now);
            }
            Event::Kick(vcpu) => now = self.pay_kick(slots, vcpu, now),
            Event::Tick | Event::Overflow(_) => {}
        }
        match UNUSUAL {
            true => self.choose_raised(slots, now, grants),
            false => self.choose::<false>(slots, now, grants),
        }
    }

    /// Charges a VCPU that waits for an interrupt at `now`, until which all time has been charged, if
    /// the VCPU has budget and another VCPU would be charged that comes after it. Returns the time
    /// until which all time has been charged then.
    #[cold]
    #[inline(never)]
    fn pay_kick(&mut self, slots: &mut [Slot], vcpu: usize, now: Instant) -> Instant {
        if let Some(slot) = slots.get_mut(vcpu)
            && !slot.ready
            && self.slot.is_some_and(|charged| charged > vcpu)
        {
            slot.server.wake(now);
            if slot.supply(now).is_ok() {
                self.since = now + self.kick;
                slot.charge(self.since, now);
            }
        }
        self.since
    }

    /// Notes that the VCPU enters or leaves sections. All time until `now` has been charged.
    #[inline(always)]
    fn change_gcs(&mut self, slots: &mut [Slot], vcpu: usize, inside: bool, now: Instant) {
        if let Some(slot) = slots.get_mut(vcpu) {
            slot.in_gcs = inside;
            if !inside {
                slot.server.leave_gcs();
            } else if slot.hold.is_over() {
                self.end_gcs(vcpu, slot);
            } else if slot.executes() {
                slot.enter_gcs(now);
            }
        }
        self.count(slots);
    }

    /// The VCPU blocks in a section. If its time in sections is limited, its section ends, so that
    /// other VCPUs do not wait for it.
    #[cold]
    #[inline(never)]
    fn wait_in_gcs(&mut self, vcpu: usize, slot: &mut Slot) {
        match slot.hold.is_limited() {
            true => self.end_gcs(vcpu, slot),
            false => slot.server.leave_gcs(),
        }
    }

    /// Lets the VCPU count as outside of sections.
    fn end_gcs(&mut self, vcpu: usize, slot: &mut Slot) {
        slot.in_gcs = false;
        slot.server.leave_gcs();
        self.overheld |= bit(vcpu);
    }

    pub(super) fn count(&mut self, slots: &[Slot]) {
        let inside = slots.iter().filter(|slot| slot.in_gcs || slot.hold.is_used());
        self.unusual = (self.unusual & REGULATED) | inside.count();
    }

    /// [`Charge::settle`] where VCPUs may have memory budgets or be in global critical sections.
    #[inline(never)]
    fn settle_inside(&mut self, slots: &mut [Slot], now: Instant) {
        let since = self.since.max(self.entered);
        self.settle::<true>(slots, now);
        if let Some(vcpu) = self.slot
            && let Some(slot) = slots.get_mut(vcpu)
            && slot.in_gcs
            && slot.executes()
        {
            slot.hold.charge(now - since);
            if slot.hold.is_over() {
                self.end_gcs(vcpu, slot);
            }
        }
    }

    /// Charges the VCPU that ran for the time since the last event.
    #[inline]
    fn settle<const UNUSUAL: bool>(&mut self, slots: &mut [Slot], now: Instant) {
        if let Some(slot) = self.slot.and_then(|slot| slots.get_mut(slot)) {
            if slot.ready && !UNUSUAL {
                slot.server.charge(now, self.since);
            } else if slot.executes() {
                slot.charge(now, self.since);
            } else {
                slot.server.idle(now, self.since);
            }
        }
        self.since = now;
    }
}

/// The bit in [`Charge::unusual`] for memory budgets.
pub(super) const REGULATED: usize = 1 << (usize::BITS - 1);

/// Returns the set with this VCPU. CPUs on which sections are limited have fewer than 64 VCPUs.
fn bit(vcpu: usize) -> u64 {
    1 << (vcpu % 64)
}
