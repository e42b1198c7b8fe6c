//! Short cuts of [`Cpu::step`], for what comes often and changes little. Who drives a CPU may leave them out.
//!
//! [`step_unregulated`] spares a comparison. Each of the others says whether it was gone. If not, nothing has changed, and
//! the event is one for [`Cpu::step`]. If so, the outcome is that of [`Cpu::step`]:
//!
//! - [`stop_alone`], [`resume_alone`]: the same decision, and the same state from then on.
//! - [`change_gcs`]: the VCPU that ran goes on, and what [`Cpu::step`] would do besides is put off until the next
//!   event, at the time of the timer at the latest: the decision and the state are those of [`Cpu::step`] then. A VCPU that
//!   has to pay for a wait ([`Cpu::with_wait`]) pays at that event too, as it would if there were no section.

use super::{Charge, Cpu, Decision, Event, Slot};
use crate::time::{Duration, Instant};

/// [`Cpu::step`] for a CPU of which no VCPU has a memory budget: does not look whether one has.
#[inline(always)]
pub fn step_unregulated<S: AsRef<[Slot]> + AsMut<[Slot]>>(
    cpu: &mut Cpu<S>,
    event: Event,
    now: Instant,
) -> Decision {
    cpu.charge.step_unregulated(cpu.slots.as_mut(), event, now).decision()
}

/// The VCPU, which runs, enters its first global critical section (`inside`), or leaves its last one: as
/// [`Event::EnterGcs`] and [`Event::LeaveGcs`], where nobody else can be
/// the one to run then. To be called before the time of the timer only.
///
/// The last decision holds on. Its timer may come earlier than needed, since it knows of no overrun; and it does not
/// come when the VCPU has been in sections for too long. As soon as that matters to somebody else, there has to be
/// an event: [`Event::Tick`], if nothing else.
#[inline(always)]
pub fn change_gcs<S: AsRef<[Slot]> + AsMut<[Slot]>>(
    cpu: &mut Cpu<S>,
    vcpu: usize,
    inside: bool,
    now: Instant,
) -> bool {
    let Cpu { slots, charge } = cpu;
    let Some(slot) = slots.as_mut().get_mut(vcpu) else { return false };
    // From nobody in sections to this one, and back.
    let quick = if inside { slot.ready && charge.unusual == 0 } else { charge.undisturbed };
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

/// The VCPU, which is alone on its CPU and runs, has made so many accesses, at least those that it may make: as
/// [`Cpu::account`] and then [`Event::Overflow`]. `true`: nothing runs from now on, until the
/// time that is known from before.
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

/// Time has passed for the VCPU, which is alone on its CPU and waits for accesses: as
/// [`Event::Tick`]. How many it may make, which runs from now on, and until when.
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

/// The VCPU alone on its CPU, its own memory budget and the period of that.
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
