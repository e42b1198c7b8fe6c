//! One physical CPU (PCPU): which VCPU it runs, and when it must decide again.
//!
//! VCPUs have fixed priorities. The PCPU runs the VCPU with the highest priority among those that
//! are ready, which means that they have something to execute, and that have budget
//! ([`crate::server`]).
//!
//! # One door
//!
//! Each input of the scheduler is an [`Event`], and [`Cpu::step`] returns the [`Decision`] that
//! follows from it. The simulator, the replay of traces and the hypervisor pass all events to this
//! function, so that the simulated and tested scheduler is the one that runs. Time must not go back
//! between calls. The number of steps of a call is proportional to the number of VCPUs.
//!
//! Three other calls decide nothing: [`Cpu::account`] (memory accesses, before an event),
//! [`Cpu::enter`] (a VCPU starts to execute), and [`Cpu::take_news`] (VCPUs that an event stopped
//! in sections, after the event). The hypervisor uses short cuts for frequent events ([`fast`]),
//! which have the same result as [`Cpu::step`].
//!
//! # Periodic servers and sections
//!
//! While a periodic server has the highest priority but its VCPU waits, its budget decreases. Only
//! VCPUs of the background class may run meanwhile.
//!
//! [`Event::EnterGcs`] and [`Event::LeaveGcs`] mark global critical sections, in which servers may
//! overrun. With [`Cpu::with_ceilings`] a ready VCPU in a section comes before all VCPUs outside
//! (vMPCP: its priority is `pi_B^v + pi_j^v`); the VCPU still needs budget. With
//! [`Slot::with_hold`] a VCPU that executes in sections for too long, or blocks in one, counts as
//! outside from then on, which [`News::EndedGcs`] reports once.
//!
//! # Costs of switches and kicks
//!
//! [`Cpu::with_switch`]: the hypervisor needs time to stop one VCPU and to continue the next. A
//! VCPU that blocks is charged for this time, and the next VCPU is charged only after it, or from
//! when the VCPU executes ([`Cpu::enter`]). So a VCPU that wakes and blocks all the time takes no
//! more than its own budget from others. A VCPU that wakes and preempts another one is charged from
//! the event on, whose time must be that of the interrupt; no time is charged twice.
//!
//! [`Cpu::with_kick`]: an interrupt for a VCPU that waits, and waits on afterwards ([`Event::Kick`]),
//! takes time from the VCPU that executes, a limited number of times ([`crate::pace`]). If the VCPU
//! that waits comes before the other one and has budget, the time is charged to it, as if it had
//! executed for that time, and not to the other one. So the time that a VCPU takes from those below, by
//! execution and by kicks, is no more than its budget. The budget of an idle periodic server
//! decreases anyway.
//!
//! # Memory budgets
//!
//! A VCPU may have a memory budget besides ([`crate::bandwidth`]). It runs only with processor time
//! *and* accesses. Before each event, the caller passes the number of accesses of the VCPU that ran
//! ([`Cpu::account`]), and after each event sets a counter to stop the VCPU after
//! [`Cpu::accesses`] more ([`Event::Overflow`]). VCPUs without a memory budget need neither.
//!
//! To its server, a VCPU that waits for accesses (XvIso's RECHARGE) is one that waits. So VCPUs of
//! lower priority get what their analysis assumes: the budget of a periodic server decreases, and
//! only VCPUs of the background class run meanwhile; the budget of a deferrable server is kept
//! until its period ends; that of a sporadic server counts from the replenishment on; and all other
//! VCPUs may run. No VCPU gets less because another one waits for accesses.

mod alone;
mod charge;
mod choice;
mod choose;
pub mod fast;
mod slot;

use crate::bandwidth::Grants;
use crate::server::{Parameters, Policy};
use crate::time::{Duration, Instant};
use charge::{Charge, REGULATED};

pub use slot::Slot;

/// An input of the scheduler.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// The VCPU has something to execute.
    Wake(usize),
    /// The VCPU waits from now on.
    Block(usize),
    /// A task of the VCPU enters a global critical section (vMPCP, section III.C): from now on the
    /// VCPU may overrun its budget, if its server has overrun. Nothing changes if a task was in a
    /// section before.
    EnterGcs(usize),
    /// The last task of the VCPU leaves its global critical section. Without budget the VCPU stops.
    LeaveGcs(usize),
    /// The PCPU was interrupted for the VCPU, which waits and goes on waiting.
    Kick(usize),
    /// Time has passed.
    Tick,
    /// The VCPU has used up its memory accesses.
    Overflow(usize),
}

/// The action of the CPU until the next event.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Decision {
    /// The VCPU to run; none: the CPU idles.
    pub run: Option<usize>,
    /// [`Event::Tick`] is due then, unless another event comes before.
    pub timer: Option<Instant>,
}

/// An event ended the section of a VCPU, or stopped the VCPU in a section. Each case is told once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum News {
    /// The VCPU would run, but waits in its section because its budget and its overrun are used up:
    /// the overrun is too short, or the section too long.
    StoppedInGcs(usize),
    /// The VCPU was in sections for too long ([`Slot::with_hold`]) or blocked in one. It counts as
    /// outside, whatever its guest says.
    EndedGcs(usize),
}

/// The VCPUs of a physical CPU, the one with the highest priority first; those of
/// the background class last.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Cpu<S> {
    slots: S,
    charge: Charge,
}

impl<S: AsRef<[Slot]> + AsMut<[Slot]>> Cpu<S> {
    /// Makes a CPU on which nothing runs.
    pub fn new(slots: S) -> Self {
        let regulated = slots.as_ref().iter().any(|slot| slot.account.is_some());
        let alone = match slots.as_ref() {
            [only] => regulated && only.server.is_background() && !only.hold.is_limited(),
            _ => false,
        };
        let charge = Charge {
            slot: None,
            since: Instant(0),
            switch: Duration::ZERO,
            kick: Duration::ZERO,
            budget: Duration::ZERO,
            run: None,
            ceilings: false,
            alone,
            unusual: if regulated { REGULATED } else { 0 },
            undisturbed: false,
            entered: Instant(0),
            stopped: 0,
            overheld: 0,
        };
        Self { slots, charge }
    }

    /// Lets VCPUs in global critical sections come before all others (vMPCP, section III.B).
    #[must_use]
    pub fn with_ceilings(mut self) -> Self {
        self.charge.ceilings = true;
        self
    }

    /// Charges a VCPU that blocks for `switch` more: the time until the next VCPU executes.
    #[must_use]
    pub fn with_switch(mut self, switch: Duration) -> Self {
        self.charge.switch = switch;
        self
    }

    /// Charges `kick` for each [`Event::Kick`]: the time from the interrupt until the VCPU that
    /// executed before continues.
    #[must_use]
    pub fn with_kick(mut self, kick: Duration) -> Self {
        self.charge.kick = kick;
        self
    }

    /// Charges the VCPU that is to run from its first instruction on, because it executes earlier
    /// than [`Cpu::with_switch`] assumes: an eighth of a switch after `now`, which is longer than the
    /// hypervisor needs from there. The timer stays as it is, so that the budget may end earlier than
    /// the timer by the difference.
    #[inline(always)]
    pub fn enter(&mut self, now: Instant) {
        let first = now + Duration(self.charge.switch.0 / 8);
        self.charge.since = self.charge.since.min(first);
    }

    /// Returns the VCPUs.
    pub fn slots(&self) -> &[Slot] {
        self.slots.as_ref()
    }

    /// Returns the time that the chosen VCPU may run from the last decision on if no event comes;
    /// the largest duration if there is no limit.
    pub fn budget(&self) -> Duration {
        self.charge.budget
    }

    /// Decides after an event at `now`. VCPUs that share a memory budget take accesses from
    /// `grants`.
    #[inline(always)]
    pub fn step(&mut self, event: Event, now: Instant, grants: &mut dyn Grants) -> Decision {
        let (slots, charge) = (self.slots.as_mut(), &mut self.charge);
        let choice = match charge.unusual & REGULATED {
            0 => charge.step_unregulated(slots, event, now),
            _ => charge.step_unusual(slots, event, now, grants),
        };
        choice.decision()
    }

    /// Charges the VCPU for the accesses that it has made since the last call. If a VCPU with a
    /// memory budget ran, this call comes before that of [`Cpu::step`].
    #[inline(always)]
    pub fn account(&mut self, vcpu: usize, accesses: u64) {
        if let Some(slot) = self.slots.as_mut().get_mut(vcpu)
            && let Some(account) = &mut slot.account
        {
            account.charge(accesses);
        }
    }

    /// Returns the number of accesses that the chosen VCPU may make from the last decision on if no
    /// event comes; `None` if there is no limit.
    #[inline(always)]
    pub fn accesses(&self) -> Option<u64> {
        let slot = self.slots.as_ref().get(self.charge.run?)?;
        Some(slot.account.as_ref()?.accesses())
    }

    /// Returns true if [`Cpu::take_news`] has news.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        self.charge.stopped | self.charge.overheld != 0
    }

    /// Takes news of VCPUs in global critical sections. Callers take all news before the next
    /// event.
    pub fn take_news(&mut self) -> Option<News> {
        let Charge { stopped, overheld, .. } = &mut self.charge;
        match core::mem::take(stopped) {
            0 => first(overheld).map(News::EndedGcs),
            number => Some(News::StoppedInGcs(number as usize - 1)),
        }
    }
}

/// Takes the first VCPU out of a set.
fn first(set: &mut u64) -> Option<usize> {
    let vcpu = set.trailing_zeros();
    *set &= set.wrapping_sub(1);
    (vcpu < 64).then_some(vcpu as usize)
}

/// A time that does not come.
const NEVER: Instant = Instant(u64::MAX);

/// Parameters of a VCPU that gets all of the CPU: budget and period are one tick.
pub const WHOLE_CPU: Policy = Policy::Deferrable(Parameters {
    budget: Duration(1),
    period: Duration(1),
    start: Instant(0),
    overrun: Duration::ZERO,
});
