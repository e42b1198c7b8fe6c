//! The choice of the VCPU that runs, and of the time until which it runs.

use super::charge::{Charge, REGULATED};
use super::choice::{Choice, NOBODY};
use super::{NEVER, Slot};
use crate::bandwidth::{Grant, Grants};
use crate::time::{Duration, Instant};

impl Charge {
    /// [`Charge::choose`] where VCPUs may be in global critical sections or have memory budgets.
    #[inline(never)]
    pub(super) fn choose_raised(
        &mut self,
        slots: &mut [Slot],
        now: Instant,
        grants: &mut dyn Grants,
    ) -> Choice {
        self.undisturbed = false;
        let choice = self.choose::<true>(slots, now, grants);
        if self.unusual & !REGULATED > 0 {
            if let Some(slot) = slots.get_mut(choice.run)
                && !slot.in_gcs
            {
                slot.hold.reset();
            }
            self.count(slots);
        }
        choice
    }

    /// Chooses the first VCPU, in the order of priorities, that is ready and has budget and
    /// accesses.
    ///
    /// Before the loop looks at a slot, the following holds for the slots that it has looked at:
    ///
    /// - None of them can run now: each VCPU waits, has no budget or has no accesses. So `run` is
    ///   [`NOBODY`].
    /// - `self.slot` is the first of them whose budget decreases from now on, if there is one
    ///   (`charged`): its server is periodic and has budget, but the VCPU waits or has no accesses.
    ///   The time belongs to this VCPU, so that only VCPUs of the background class can run after
    ///   it.
    /// - `timer` is the first time at which one of them may run, or at which the budget of
    ///   `self.slot` ends. Without an event, these statements hold until then. Slots that were
    ///   skipped because they come after `charged` need no time: the budget of `self.slot` ends
    ///   before they matter.
    /// - `grants.rest` keeps the accesses of a shared memory budget that the last VCPU has left,
    ///   until this VCPU is chosen again or another one takes accesses.
    ///
    /// The VCPU at which the loop stops runs, and its budget decreases unless that of another VCPU
    /// does. The slots after it do not matter until `timer`, since they can only run if those
    /// before them do not.
    ///
    /// `UNUSUAL`: VCPUs may have memory budgets (a VCPU without one has unlimited accesses), and
    /// VCPUs in global critical sections come before the others. Then there are two passes, and
    /// each slot is looked at in one of them.
    #[inline(always)]
    pub(super) fn choose<const UNUSUAL: bool>(
        &mut self,
        slots: &mut [Slot],
        now: Instant,
        grants: &mut dyn Grants,
    ) -> Choice {
        let (mut run, mut timer) = (NOBODY, NEVER);
        let mut grants = Held { grants, rest: None };
        if UNUSUAL {
            grants.rest = self.run.and_then(|run| Some((run, slots.get_mut(run)?.rest(now)?)));
        }
        self.slot = None;
        self.budget = Duration::ZERO;
        let mut charged = false;
        let ceilings = self.ceilings;
        'passes: for pass in 0..1 + usize::from(UNUSUAL) {
            for (index, slot) in slots.iter_mut().enumerate() {
                if UNUSUAL && (ceilings && slot.in_gcs && slot.ready) != (pass == 0) {
                    continue;
                }
                if !slot.ready && !slot.server.idles() {
                    continue;
                }
                if charged && !slot.server.is_background() {
                    continue;
                }
                if UNUSUAL {
                    slot.recharge(now);
                }
                let mut budget = match slot.server.supply(now) {
                    Ok(budget) => budget,
                    Err(renewal) => {
                        timer = timer.min(renewal);
                        if UNUSUAL && slot.in_gcs {
                            if slot.recharges {
                                // It may overrun as soon as it can execute again.
                                timer = timer.min(slot.recharge_end());
                            }
                            if self.stopped == 0 && slot.server.stops_in_gcs() {
                                self.stopped = index as u64 + 1;
                            }
                        }
                        continue;
                    }
                };
                let mut runs = slot.ready;
                if UNUSUAL && let Some(until) = slot.admit(index, now, &mut grants) {
                    timer = timer.min(until);
                    if slot.recharges {
                        runs = false;
                        // It overruns no more.
                        match slot.supply(now) {
                            Ok(rest) if slot.server.idles() => budget = rest,
                            Ok(_) => continue,
                            Err(renewal) => {
                                timer = timer.min(renewal);
                                continue;
                            }
                        }
                    }
                }
                if !charged {
                    charged = true;
                    self.slot = Some(index);
                    timer = timer.min(now + budget);
                }
                if runs {
                    run = index;
                    self.budget = budget;
                    if UNUSUAL && slot.in_gcs {
                        timer = timer.min(now + slot.hold.left());
                    }
                    break 'passes;
                }
            }
        }
        if UNUSUAL {
            grants.release();
            self.run = (run != NOBODY).then_some(run);
        }
        Choice { run, timer }
    }
}

/// Keeps the rest of a shared memory budget that the last VCPU has, until the next VCPU is known.
pub(super) struct Held<'a> {
    pub(super) grants: &'a mut dyn Grants,
    pub(super) rest: Option<(usize, Grant)>,
}

impl Held<'_> {
    pub(super) fn release(&mut self) {
        if let Some((vcpu, rest)) = self.rest.take() {
            self.grants.give_back(vcpu, rest);
        }
    }
}

impl Grants for Held<'_> {
    fn take(&mut self, vcpu: usize, debt: u64, now: Instant) -> Grant {
        if let Some((_, rest)) = self.rest.take_if(|(owner, _)| *owner == vcpu) {
            return rest;
        }
        self.release();
        self.grants.take(vcpu, debt, now)
    }

    fn give_back(&mut self, vcpu: usize, rest: Grant) {
        self.grants.give_back(vcpu, rest);
    }
}
