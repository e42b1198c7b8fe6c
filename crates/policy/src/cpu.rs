//! One physical CPU: which VCPU it runs, and when it must decide again.
//!
//! VCPUs have fixed priorities; the one with the highest runs among those that
//! have something to do and budget ([`crate::server`]).
//!
//! # The one door
//!
//! What happens to a CPU is an [`Event`], and [`Cpu::step`] answers with the [`Decision`] that it leads to. The simulator,
//! the replay of traces and the hypervisor tell all events there, so that what is simulated and tested is
//! what runs. Time must not go back between calls. Each call takes a number of
//! steps that is proportional to the number of VCPUs.
//!
//! Besides, who drives the CPU tells what decides nothing by itself: [`Cpu::account`], accesses before an event, and
//! [`Cpu::enter`], when a VCPU executes; and takes what became of VCPUs in sections, behind it ([`Cpu::take_news`]). The
//! hypervisor has short cuts besides for what comes often ([`fast`]), which lead to what [`Cpu::step`] leads to.
//!
//! # Periodic servers and sections
//!
//! While a periodic server is the one to run but its VCPU has nothing to do, its
//! budget goes by: VCPUs of the background class may run then, others not.
//!
//! [`Event::EnterGcs`] and [`Event::LeaveGcs`] tell of global critical sections, in which servers may
//! overrun. [`Cpu::with_ceilings`]: while a VCPU is in one and has something to do, it goes before
//! all that are not (vMPCP: its priority is `pi_B^v + pi_j^v`). It still needs budget.
//! [`Slot::with_hold`]: a VCPU that executes in sections for too long, or waits for something else in one,
//! is in none any more, which is told once ([`News::EndedGcs`]).
//!
//! # What taking turns costs
//!
//! [`Cpu::with_switch`]: who runs the VCPUs needs time to stop one and to go on with the next. A VCPU that has
//! nothing to do any more pays for that: it is charged for so much longer, and the next one
//! only from then on, or from when it executes ([`Cpu::enter`]). So a VCPU that wakes and blocks all the time takes from others what its own budget
//! allows, not more. One that wakes and preempts another pays from the event on, which is to be told with the time at
//! which it came: time that was charged already is not charged again.
//!
//! [`Cpu::with_wait`]: while a VCPU waits for something to do, others are interrupted because of it, some times at most
//! ([`crate::pace`]). When it wakes it pays for what they can have taken: out of its budget, and no more than the time that it has
//! waited, so that a budget never goes by faster than time. That of a periodic server went by meanwhile.
//!
//! # Memory budgets
//!
//! A VCPU may have a memory budget besides ([`crate::bandwidth`]). It runs only with processor
//! time *and* accesses. Who drives the CPU tells before each event what the VCPU that ran has
//! accessed ([`Cpu::account`]), and lets the counter stop it after as many accesses as
//! [`Cpu::accesses`] says ([`Event::Overflow`]). Neither has to be done for VCPUs without a
//! memory budget.
//!
//! A VCPU that waits for accesses (XvIso's RECHARGE) is to its server one that has nothing to do.
//! So VCPUs of lower priority see what their analysis is about: the budget of a periodic server
//! goes by, and only VCPUs of the background class run meanwhile; that of a deferrable one is
//! kept until its period ends, that of a sporadic one counts from the replenishment on, and
//! all others may run. No VCPU gets less because another one waits for accesses.

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
    /// Since when it has had nothing to do; and what of the wait after it is still to be taken from its budget.
    asleep: Instant,
    owed: Duration,
    account: Option<Account>,
    /// It has something to do, but waits for accesses.
    recharges: bool,
    hold: Hold,
}

impl Slot {
    /// A VCPU that has nothing to do yet.
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

    /// The same VCPU, which may be in global critical sections for a limited time.
    #[must_use]
    pub fn with_hold(self, hold: Hold) -> Self {
        Self { hold, ..self }
    }

    /// The same VCPU with a memory budget.
    #[must_use]
    pub fn with_account(self, account: Account) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Its memory budget, if it has one.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Whether it has something to do, but waits for accesses, as of the last decision for
    /// which that mattered: XvIso's RECHARGE.
    pub fn recharges(&self) -> bool {
        self.recharges
    }

    /// Whether the VCPU has something to do.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Whether one of its tasks is in a global critical section.
    pub fn is_in_gcs(&self) -> bool {
        self.in_gcs
    }

    /// How long the VCPU may run from `now` on, the time of the decision to run it; with
    /// overrun, if it is in a global critical section. The largest duration if there is no limit.
    pub fn budget(&self, now: Instant) -> Duration {
        self.server.budget(now)
    }

    /// Accesses that it has not made and that others of its VM could make.
    fn rest(&mut self, now: Instant) -> Option<Grant> {
        let account = self.account.as_mut()?;
        account.advance(now);
        account.take_rest()
    }

    /// Time has passed: a VCPU that waits for accesses may have got some.
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

    /// Until when it waits for accesses.
    fn recharge_end(&self) -> Instant {
        self.account.as_ref().and_then(Account::recharge).unwrap_or(NEVER)
    }

    /// The VCPU is to run if it has accesses, and asks for some if it has to. When its account
    /// changes, if that matters: what it has ends, or it gets some, for which it waits.
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

    /// [`Server::supply`], out of line: where it is rare.
    #[inline(never)]
    fn supply(&mut self, now: Instant) -> Result<Duration, Instant> {
        self.server.supply(now)
    }

    /// Out of line, unlike where no VCPU has a memory budget.
    #[inline(never)]
    fn charge(&mut self, now: Instant, since: Instant) {
        let owed = core::mem::take(&mut self.owed);
        self.server.charge(now, since, owed);
    }

    /// It has something to do and is in a section. Rare: kept out of the way of other events.
    #[cold]
    fn enter_gcs(&mut self, now: Instant) {
        let _ = self.supply(now);
        self.server.enter_gcs();
    }

    /// Whether it executes if it is the one to run.
    fn executes(&self) -> bool {
        self.ready && !self.recharges
    }
}

/// Keeps what the VCPU that ran has of a shared memory budget until it is known who runs next.
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

/// What happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// The VCPU has something to do.
    Wake(usize),
    /// The VCPU has nothing to do any more.
    Block(usize),
    /// A task of the VCPU is in a global critical section (vMPCP, section III.C): from now on the VCPU
    /// may overrun its budget, if its server has overrun. Nothing changes if a task was in one before.
    EnterGcs(usize),
    /// No task of the VCPU is in a global critical section any more: without budget the VCPU waits.
    LeaveGcs(usize),
    /// Time has passed.
    Tick,
    /// The VCPU has made the accesses that it may make.
    Overflow(usize),
}

/// What the CPU does until the next event.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Decision {
    /// The VCPU to run; none: the CPU idles.
    pub run: Option<usize>,
    /// [`Event::Tick`] is due then, unless another event comes before.
    pub timer: Option<Instant>,
}

/// A [`Decision`] in two words, which fit into registers: [`NOBODY`] and [`NEVER`] for none.
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

/// What became of a VCPU in global critical sections. Each case is told once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum News {
    /// The VCPU would run, but has to wait in its section, because its budget and its overrun are used up: the
    /// limit was too low, or the section too long.
    StoppedInGcs(usize),
    /// The VCPU was in sections for too long ([`Slot::with_hold`]), or had nothing to do in one: it is in none any
    /// more, whatever its guest says.
    EndedGcs(usize),
}

/// The VCPUs of a physical CPU, the one with the highest priority first; those of
/// the background class last.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Cpu<S> {
    slots: S,
    charge: Charge,
}

/// Whose budget is used, and since when.
///
/// What decides is here and not generic, so that it is compiled once, for speed.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Charge {
    slot: Option<usize>,
    /// Nobody is charged for what was before.
    since: Instant,
    /// For how much longer a VCPU is charged that blocks.
    switch: Duration,
    /// What one pays when it wakes, at most.
    wait: Duration,
    /// What the VCPU had that was to run since then.
    budget: Duration,
    /// The VCPU that is to run; only where one has a memory budget.
    run: Option<usize>,
    /// Whether VCPUs in global critical sections go before the others.
    ceilings: bool,
    /// Whether there is only one VCPU, of the background class and with a memory budget.
    alone: bool,
    /// VCPUs that are in sections, or were and have not executed outside since; and [`REGULATED`] where a VCPU
    /// has a memory budget. 0: the usual case, which takes the fewest steps.
    unusual: usize,
    /// Nothing was decided since the VCPU that runs entered its section, the only one; and when that was.
    undisturbed: bool,
    entered: Instant,
    /// What has not been told yet: 1 + the VCPU that has to wait in its section, if there is one; and those that were in
    /// sections for too long and are in none any more. Bit `i` is VCPU `i`.
    stopped: u64,
    overheld: u64,
}

impl<S: AsRef<[Slot]> + AsMut<[Slot]>> Cpu<S> {
    /// A CPU on which nothing runs.
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

    /// VCPUs in global critical sections go before all others, as vMPCP wants it.
    #[must_use]
    pub fn with_ceilings(mut self) -> Self {
        self.charge.ceilings = true;
        self
    }

    /// A VCPU that blocks is charged for `switch` longer, which is what it takes to go on with the next one.
    #[must_use]
    pub fn with_switch(mut self, switch: Duration) -> Self {
        self.charge.switch = switch;
        self
    }

    /// A VCPU that wakes pays so much of its budget at most, for interrupts of others while it waited.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.charge.wait = wait;
        self
    }

    /// The VCPU that is to run executes from `now` on, though [`Cpu::with_switch`] expects that it takes longer: it
    /// is charged from now on. The timer stays as it is: its budget may end so much earlier than that.
    #[inline(always)]
    pub fn enter(&mut self, now: Instant) {
        self.charge.since = self.charge.since.min(now);
    }

    /// Its VCPUs.
    pub fn slots(&self) -> &[Slot] {
        self.slots.as_ref()
    }

    /// How long the VCPU may run that is to run, from the last decision on and if nothing
    /// happens; the largest duration if there is no limit.
    pub fn budget(&self) -> Duration {
        self.charge.budget
    }

    /// The one door: what the CPU does from `now` on, because of an event. VCPUs that share a memory budget ask `grants` for
    /// accesses.
    #[inline(always)]
    pub fn step(&mut self, event: Event, now: Instant, grants: &mut dyn Grants) -> Decision {
        let (slots, charge) = (self.slots.as_mut(), &mut self.charge);
        let choice = match charge.unusual & REGULATED {
            0 => charge.step_unregulated(slots, event, now),
            _ => charge.step_unusual(slots, event, now, grants),
        };
        choice.decision()
    }

    /// The VCPU has made so many accesses since that was told last. Nothing else may be told
    /// before, if a VCPU with a memory budget ran.
    #[inline(always)]
    pub fn account(&mut self, vcpu: usize, accesses: u64) {
        if let Some(slot) = self.slots.as_mut().get_mut(vcpu)
            && let Some(account) = &mut slot.account
        {
            account.charge(accesses);
        }
    }

    /// How many accesses the VCPU may make that is to run, from the last decision on and if
    /// nothing happens; none: there is no limit.
    #[inline(always)]
    pub fn accesses(&self) -> Option<u64> {
        let slot = self.slots.as_ref().get(self.charge.run?)?;
        Some(slot.account.as_ref()?.accesses())
    }

    /// Whether [`Cpu::take_news`] has some.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        self.charge.stopped | self.charge.overheld != 0
    }

    /// What became of VCPUs in global critical sections with the last event. All of it is to be taken before the next one.
    pub fn take_news(&mut self) -> Option<News> {
        let Charge { stopped, overheld, .. } = &mut self.charge;
        match core::mem::take(stopped) {
            0 => first(overheld).map(News::EndedGcs),
            number => Some(News::StoppedInGcs(number as usize - 1)),
        }
    }
}

impl Charge {
    /// Where no VCPU has a memory budget.
    #[inline(never)]
    fn step_unregulated(&mut self, slots: &mut [Slot], event: Event, now: Instant) -> Choice {
        if self.unusual > 0 {
            return self.step_unusual(slots, event, now, &mut NoGrants);
        }
        self.step_as::<false>(slots, event, now, &mut NoGrants)
    }

    /// Where VCPUs have memory budgets or are in global critical sections.
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

    /// `UNUSUAL`: some VCPU may have a memory budget or be in a section. Others do not pay for what that needs.
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
                    // From now on it is. Until now no time is left.
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

    /// The VCPU is in sections from now on, or not any more. Time was taken into account until now.
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

    /// The VCPU, which is in a section, has nothing to do. If it may not be in sections for as long as it likes,
    /// others may not have to wait for it either.
    #[cold]
    #[inline(never)]
    fn wait_in_gcs(&mut self, vcpu: usize, slot: &mut Slot) {
        match slot.hold.is_limited() {
            true => self.end_gcs(vcpu, slot),
            false => slot.server.leave_gcs(),
        }
    }

    /// The VCPU has been in sections for too long.
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

    /// Takes the time since the last event from the budget that was used, and what its VCPU owes.
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

    /// Which VCPU runs: the first one, in the order of priorities, that has something to do, budget and accesses.
    ///
    /// Before the loop looks at a slot, this holds of those that it has looked at:
    ///
    /// - None of them can run now: each has nothing to do, no budget or no accesses. So `run` is nobody.
    /// - `self.slot` is the first of them whose budget goes by from now on, if there is one (`charged`): it has
    ///   budget, but nothing to do or no accesses, and its server is periodic. The time is its own, so that after
    ///   it only VCPUs of the background class can run.
    /// - `timer` is the first time at which one of them may run, or the budget of `self.slot` ends: what was said
    ///   of them holds until then, if nothing happens. Slots that were skipped as they come after `charged` need no
    ///   time: its budget ends before that matters.
    /// - What the VCPU that ran has left of a shared memory budget is in `grants.rest`, until it is the one to
    ///   run again or another one asks.
    ///
    /// The VCPU at which the loop stops runs, and is the one whose budget goes by if no other one's does. Nothing that
    /// comes after it matters until `timer`, since it could only run if those before it do not.
    ///
    /// `UNUSUAL`: VCPUs may have memory budgets, one without is as one with any number of accesses; and those in
    /// global critical sections come before the others. Then there are two passes, and each slot is looked at in
    /// one of them.
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

/// In [`Charge::unusual`]: a VCPU has a memory budget.
const REGULATED: usize = 1 << (usize::BITS - 1);

/// A set with one VCPU, of which a CPU has less than 64 where anybody looks at such sets.
fn bit(vcpu: usize) -> u64 {
    1 << (vcpu % 64)
}

/// Takes the first one out of a set.
fn first(set: &mut u64) -> Option<usize> {
    let vcpu = set.trailing_zeros();
    *set &= set.wrapping_sub(1);
    (vcpu < 64).then_some(vcpu as usize)
}

/// No VCPU.
const NOBODY: usize = usize::MAX;

/// The end of time, which does not come.
const NEVER: Instant = Instant(u64::MAX);

/// Parameters of a VCPU that gets all of the CPU: budget and period are one tick.
pub const WHOLE_CPU: Policy = Policy::Deferrable(Parameters {
    budget: Duration(1),
    period: Duration(1),
    start: Instant(0),
    overrun: Duration::ZERO,
});
