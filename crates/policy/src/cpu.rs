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
//! # Costs of switches and waits
//!
//! [`Cpu::with_switch`]: the hypervisor needs time to stop one VCPU and to continue the next. A
//! VCPU that blocks is charged for this time, and the next VCPU is charged only after it, or from
//! when the VCPU executes ([`Cpu::enter`]). So a VCPU that wakes and blocks all the time takes no
//! more than its own budget from others. A VCPU that wakes and preempts another one is charged from
//! the event on, whose time must be that of the interrupt; no time is charged twice.
//!
//! [`Cpu::with_wait`]: interrupts for a VCPU that waits take time from other VCPUs, a limited
//! number of times ([`crate::pace`]). When the VCPU wakes, this time is taken from its budget, but
//! no more than the time that the VCPU waited, so that no budget decreases faster than time passes.
//! The budget of a periodic server decreased during the wait already.
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
pub mod fast;

use crate::bandwidth::{Account, Grant, Grants, NoGrants};
use crate::lock::hold::Hold;
use crate::server::{Parameters, ParametersError, Policy, Server};
use crate::time::{Duration, Instant};

/// A VCPU of the CPU.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Slot {
    server: Server,
    ready: bool,
    in_gcs: bool,
    /// Start of the current or last wait.
    asleep: Instant,
    /// Time for the last wait that is still to be taken from the budget.
    owed: Duration,
    account: Option<Account>,
    /// The VCPU is ready, but waits for accesses.
    recharges: bool,
    hold: Hold,
}

impl Slot {
    /// Makes a VCPU that waits.
    pub fn new(policy: Policy) -> Result<Self, ParametersError> {
        let server = Server::new(policy)?;
        Ok(Self {
            server,
            ready: false,
            in_gcs: false,
            asleep: NEVER,
            owed: Duration::ZERO,
            account: None,
            recharges: false,
            hold: Hold::UNLIMITED,
        })
    }

    /// Limits the time that the VCPU may be in global critical sections.
    #[must_use]
    pub fn with_hold(self, hold: Hold) -> Self {
        Self { hold, ..self }
    }

    /// Gives the VCPU a memory budget.
    #[must_use]
    pub fn with_account(self, account: Account) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Returns the memory budget of the VCPU, if there is one.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Returns true if the VCPU is ready, but waits for accesses (XvIso's RECHARGE), as of the last
    /// decision for which that mattered.
    pub fn recharges(&self) -> bool {
        self.recharges
    }

    /// Returns true if the VCPU has something to execute.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Returns true if a task of the VCPU is in a global critical section.
    pub fn is_in_gcs(&self) -> bool {
        self.in_gcs
    }

    /// Returns the time that the VCPU may run from `now` on, the time of the decision to run it,
    /// with overrun if the VCPU is in a global critical section; the largest duration if there is
    /// no limit.
    pub fn budget(&self, now: Instant) -> Duration {
        self.server.budget(now)
    }

    /// Takes the accesses that the VCPU has left and that other VCPUs of its VM could make.
    fn rest(&mut self, now: Instant) -> Option<Grant> {
        let account = self.account.as_mut()?;
        account.advance(now);
        account.take_rest()
    }

    /// Gives the VCPU the accesses that time has brought, and ends its wait for them.
    #[inline(never)]
    fn recharge(&mut self, now: Instant) {
        let Some(account) = &mut self.account else { return };
        let end = account.recharge();
        account.advance(now);
        if self.recharges && account.recharge().is_none() {
            self.recharges = false;
            self.server.wake(end.unwrap_or(now));
            if self.in_gcs {
                self.enter_gcs(now);
            }
        }
    }

    /// Returns the end of the wait for accesses; [`NEVER`] if the VCPU does not wait for any.
    fn recharge_end(&self) -> Instant {
        self.account.as_ref().and_then(Account::recharge).unwrap_or(NEVER)
    }

    /// Takes accesses for the VCPU, which is to run if there are any. Returns when its account
    /// changes, if that matters: when the accesses expire, or when the next ones come.
    #[inline(never)]
    fn admit(&mut self, vcpu: usize, now: Instant, grants: &mut dyn Grants) -> Option<Instant> {
        if !self.ready {
            return None;
        }
        let account = self.account.as_mut()?;
        account.fill(vcpu, now, grants);
        let end = account.recharge();
        if end.is_some() && !self.recharges {
            self.recharges = true;
            if self.in_gcs {
                self.server.leave_gcs();
            }
        }
        Some(end.unwrap_or(account.until()))
    }

    /// [`Server::supply`], out of line because it is rare here.
    #[inline(never)]
    fn supply(&mut self, now: Instant) -> Result<Duration, Instant> {
        self.server.supply(now)
    }

    /// [`Server::charge`], out of line, unlike on PCPUs without memory budgets.
    #[inline(never)]
    fn charge(&mut self, now: Instant, since: Instant) {
        let owed = core::mem::take(&mut self.owed);
        self.server.charge(now, since, owed);
    }

    /// The VCPU is ready and in a section. This is rare, so that the code is out of line.
    #[cold]
    fn enter_gcs(&mut self, now: Instant) {
        let _ = self.supply(now);
        self.server.enter_gcs();
    }

    /// Returns true if the VCPU executes when it is chosen to run.
    fn executes(&self) -> bool {
        self.ready && !self.recharges
    }
}

/// Keeps the rest of a shared memory budget that the last VCPU has, until the next VCPU is known.
struct Held<'a> {
    grants: &'a mut dyn Grants,
    rest: Option<(usize, Grant)>,
}

impl Held<'_> {
    fn release(&mut self) {
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

/// A [`Decision`] in two words, which fit into registers; [`NOBODY`] and [`NEVER`] mean none.
#[derive(Clone, Copy)]
struct Choice {
    run: usize,
    timer: Instant,
}

impl Choice {
    #[inline(always)]
    fn decision(self) -> Decision {
        Decision {
            run: (self.run != NOBODY).then_some(self.run),
            timer: (self.timer < NEVER).then_some(self.timer),
        }
    }
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

/// The VCPU whose budget decreases, and the state of the scheduler.
///
/// The functions that decide are here and not generic, so that they are compiled once.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Charge {
    slot: Option<usize>,
    /// Time until which all VCPUs have been charged.
    since: Instant,
    /// Additional charge of a VCPU that blocks.
    switch: Duration,
    /// Maximum charge of a VCPU that wakes.
    wait: Duration,
    /// The budget at `since` of the VCPU that was to run.
    budget: Duration,
    /// The VCPU that is to run; only kept if a VCPU has a memory budget.
    run: Option<usize>,
    /// VCPUs in global critical sections come before the others.
    ceilings: bool,
    /// There is only one VCPU, of the background class and with a memory budget.
    alone: bool,
    /// Number of VCPUs that are in sections or have not executed outside since; plus [`REGULATED`]
    /// if a VCPU has a memory budget. 0 is the usual case, which takes the fewest steps.
    unusual: usize,
    /// Nothing was decided since the running VCPU entered its section, and no other VCPU is in one.
    undisturbed: bool,
    /// Time at which that VCPU entered its section.
    entered: Instant,
    /// 1 + the VCPU of [`News::StoppedInGcs`] that was not told yet; 0: none.
    stopped: u64,
    /// The VCPUs of [`News::EndedGcs`] that were not told yet: bit `i` is VCPU `i`.
    overheld: u64,
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
            wait: Duration::ZERO,
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

    /// Charges a VCPU that wakes for up to `wait`: the time of interrupts for it while it waited.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.charge.wait = wait;
        self
    }

    /// Charges the VCPU that is to run from `now` on, because it executes earlier than
    /// [`Cpu::with_switch`] assumes. The timer stays as it is, so that the budget may end earlier
    /// than the timer by that difference.
    #[inline(always)]
    pub fn enter(&mut self, now: Instant) {
        self.charge.since = self.charge.since.min(now);
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

impl Charge {
    /// [`Cpu::step`] for CPUs without memory budgets.
    #[inline(never)]
    fn step_unregulated(&mut self, slots: &mut [Slot], event: Event, now: Instant) -> Choice {
        if self.unusual > 0 {
            return self.step_unusual(slots, event, now, &mut NoGrants);
        }
        self.step_as::<false>(slots, event, now, &mut NoGrants)
    }

    /// [`Cpu::step`] if VCPUs may have memory budgets or be in global critical sections.
    #[inline(never)]
    fn step_unusual(
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
                    if !slot.server.idles() {
                        slot.owed = self.wait.min(now - slot.asleep);
                    }
                    slot.server.wake(now);
                    if slot.in_gcs {
                        slot.enter_gcs(now);
                    }
                }
            }
            Event::Block(vcpu) => {
                if let Some(slot) = slots.get_mut(vcpu) {
                    slot.ready = false;
                    slot.asleep = now;
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
            Event::Tick | Event::Overflow(_) => {}
        }
        match UNUSUAL {
            true => self.choose_raised(slots, now, grants),
            false => self.choose::<false>(slots, now, grants),
        }
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

    fn count(&mut self, slots: &[Slot]) {
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

    /// Charges the VCPU that ran for the time since the last event, and for what it owes.
    #[inline]
    fn settle<const UNUSUAL: bool>(&mut self, slots: &mut [Slot], now: Instant) {
        if let Some(slot) = self.slot.and_then(|slot| slots.get_mut(slot)) {
            if slot.ready && !UNUSUAL {
                let owed = core::mem::take(&mut slot.owed);
                slot.server.charge(now, self.since, owed);
            } else if slot.executes() {
                slot.charge(now, self.since);
            } else {
                slot.server.idle(now, self.since);
            }
        }
        self.since = now;
    }

    /// [`Charge::choose`] where VCPUs may be in global critical sections or have memory budgets.
    #[inline(never)]
    fn choose_raised(
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
    fn choose<const UNUSUAL: bool>(
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

/// The bit in [`Charge::unusual`] for memory budgets.
const REGULATED: usize = 1 << (usize::BITS - 1);

/// Returns the set with this VCPU. CPUs on which sections are limited have fewer than 64 VCPUs.
fn bit(vcpu: usize) -> u64 {
    1 << (vcpu % 64)
}

/// Takes the first VCPU out of a set.
fn first(set: &mut u64) -> Option<usize> {
    let vcpu = set.trailing_zeros();
    *set &= set.wrapping_sub(1);
    (vcpu < 64).then_some(vcpu as usize)
}

/// No VCPU.
const NOBODY: usize = usize::MAX;

/// A time that does not come.
const NEVER: Instant = Instant(u64::MAX);

/// Parameters of a VCPU that gets all of the CPU: budget and period are one tick.
pub const WHOLE_CPU: Policy = Policy::Deferrable(Parameters {
    budget: Duration(1),
    period: Duration(1),
    start: Instant(0),
    overrun: Duration::ZERO,
});
