//! Short cuts of [`Cpu::step`] for frequent events. A caller may always use [`Cpu::step`] instead.
//!
//! [`step_unregulated`] saves a comparison. Each other function returns true if it applied. If it
//! did not, nothing has changed, and the caller passes the event to [`Cpu::step`]. If it did, the
//! outcome is that of [`Cpu::step`]:
//!
//! - [`stop_alone`] and [`resume_alone`]: the same decision, and the same state from then on.
//! - [`change_gcs`]: the running VCPU goes on, and everything else that [`Cpu::step`] would do
//!   happens at the next event, at the latest when the timer fires. The decision and the state are
//!   those of [`Cpu::step`] then. [`super::News::EndedGcs`] does not come for a
//!   VCPU that leaves its section after its limit and before an event.

use super::{Charge, Cpu, Decision, Event, Slot};
use crate::time::{Duration, Instant};

/// [`Cpu::step`] for a CPU without memory budgets.
#[inline(always)]
pub fn step_unregulated<S: AsRef<[Slot]> + AsMut<[Slot]>>(
    cpu: &mut Cpu<S>,
    event: Event,
    now: Instant,
) -> Decision {
    cpu.charge.step_unregulated(cpu.slots.as_mut(), event, now).decision()
}

/// The running VCPU enters its first global critical section (`inside`) or leaves its last one:
/// [`Event::EnterGcs`] or [`Event::LeaveGcs`], if no other VCPU can be chosen because of it.
/// Returns false, and does nothing, if another one may be: then the event is for [`Cpu::step`].
/// Callers use this function only before the time of the timer.
///
/// The last decision remains valid. Its timer knows of no overrun, so that it may fire earlier than
/// necessary, and it does not fire when the VCPU has been in sections for too long. As soon as that
/// matters to another VCPU, the caller has to pass an event, for example [`Event::Tick`].
#[inline(always)]
pub fn change_gcs<S: AsRef<[Slot]> + AsMut<[Slot]>>(
    cpu: &mut Cpu<S>,
    vcpu: usize,
    inside: bool,
    now: Instant,
) -> bool {
    let Cpu { slots, charge } = cpu;
    let Some(slot) = slots.as_mut().get_mut(vcpu) else { return false };
    // From nobody in sections to this one, and back. A VCPU that executes early may have used up its
    // budget before the timer fires ([`Cpu::enter`]); then a periodic server has no overrun.
    let has_budget = now - charge.since < charge.budget;
    let quick = match inside {
        true => slot.ready && charge.unusual == 0 && has_budget,
        false => charge.undisturbed,
    };
    if charge.slot != Some(vcpu) || !quick {
        return false;
    }
    if inside {
        charge.entered = now;
        slot.server.enter_gcs();
    } else {
        // The overrun was not used: there would have been a tick at the end of the budget.
        slot.server.leave_gcs();
    }
    charge.undisturbed = inside;
    charge.unusual = usize::from(inside);
    slot.in_gcs = inside;
    true
}

/// The running VCPU, which has its CPU for itself, has made `accesses`, at least all that it may
/// make: [`Cpu::account`] and then [`Event::Overflow`]. Returns true if nothing runs from now on,
/// until the time that the last decision named.
#[inline(always)]
pub fn stop_alone<S: AsRef<[Slot]> + AsMut<[Slot]>>(
    cpu: &mut Cpu<S>,
    accesses: u64,
    now: Instant,
) -> bool {
    let Some((slot, budget, _)) = own_alone(cpu) else { return false };
    let Some(account) = &mut slot.account else { return false };
    let left = account.level;
    // A debt that is less than a budget is paid with the next one.
    if now >= account.until || !(left..left + budget).contains(&(accesses as i64)) {
        return false;
    }
    account.level = left - accesses as i64;
    slot.recharges = true;
    cpu.charge = Charge { slot: None, since: now, budget: Duration::ZERO, run: None, ..cpu.charge };
    true
}

/// Time has passed for the VCPU that has its CPU for itself and waits for accesses:
/// [`Event::Tick`]. Returns the number of accesses that it may make from now on, and until when, if
/// it runs.
#[inline(always)]
pub fn resume_alone<S: AsRef<[Slot]> + AsMut<[Slot]>>(
    cpu: &mut Cpu<S>,
    now: Instant,
) -> Option<(u64, Instant)> {
    let (slot, budget, period) = own_alone(cpu)?;
    let account = slot.account.as_mut().filter(|_| slot.recharges)?;
    let end = account.until + period;
    let level = account.level + budget;
    if now < account.until || now >= end || level <= 0 {
        return None;
    }
    (account.level, account.until) = (level, end);
    slot.recharges = false;
    let run = Some(0);
    cpu.charge = Charge { slot: run, since: now, budget: Duration(u64::MAX), run, ..cpu.charge };
    Some((level as u64, end))
}

/// Returns the VCPU that has its CPU for itself, its own memory budget, and the period of that.
#[inline(always)]
fn own_alone<S: AsRef<[Slot]> + AsMut<[Slot]>>(
    cpu: &mut Cpu<S>,
) -> Option<(&mut Slot, i64, Duration)> {
    if !cpu.charge.alone {
        return None;
    }
    let [slot] = cpu.slots.as_mut() else { return None };
    let (budget, period) = slot.account.as_ref()?.own_budget()?;
    Some((slot, budget, period))
}
