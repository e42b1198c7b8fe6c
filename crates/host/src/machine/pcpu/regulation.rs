//! Regulation: the VCPUs of a PCPU are held to limits of memory accesses.
//!
//! The counter of the thread counts for the VCPU that is to run, from the decision that led to that until the next one, also what
//! Linux, KVM and this thread do meanwhile. While the thread waits, it counts nothing. Its count is told to the scheduler before
//! each event, and then the counter wakes the thread after as many accesses as are left. Rules and records are those of the
//! hypervisor (`hypervisor/src/pcpu/regulation.rs`).
//!
//! What the thread does to wake another VCPU, and to go over from a VCPU that blocked to the next one, counts for that other
//! VCPU. If nothing is to run, the VCPU that ran last pays for what it takes to stop it and to start the next one, up to
//! [`IDLE_MAX`].

use std::sync::Arc;

use abi::trace::{GRANT_LATER, Kind, NO_LIMIT, Record};
use policy::bandwidth::{Grant, Grants, Side, overshoot};
use policy::cpu::Event;
use policy::time::Instant;
use vmm::Counter;

use super::{Pcpu, Seat, Writer};
use crate::machine::limits::{Credits, Pools};

/// The state of a PCPU that counts accesses.
#[derive(Debug)]
pub struct Regulation {
    counter: Counter,
    pools: Arc<Pools>,
    /// The VMs that get credits for accesses that critical VCPUs of this PCPU do not make.
    sides: Vec<Credited>,
    /// The count at the last decision.
    base: u64,
    /// Accesses from then on after which the VCPU to run has made all of its own; `None`: no limit.
    left: Option<u64>,
    /// The part of the accesses from then on that was charged to other VCPUs than the one to run.
    others: u64,
    /// The count when the thread began to look at what there is to do, or when the last VCPU was charged for that.
    mark: u64,
    /// Nothing is to run, and this VCPU ran before, which had a limit.
    last: Option<usize>,
}

/// A VM that gets credits, as a PCPU with critical VCPUs sees it.
#[derive(Debug)]
struct Credited {
    vm: usize,
    side: Side,
    credits: Credits,
    /// Address space of the critical guest at the end of the last period.
    space: u64,
}

/// Most accesses after it ran for which a VCPU pays.
const IDLE_MAX: u64 = overshoot::ANY.idle;

impl Regulation {
    /// Makes the state of a PCPU on which nothing ran. `critical`: VCPUs of critical VMs are on it.
    pub fn new(counter: Counter, pools: Arc<Pools>, critical: bool) -> Self {
        let credited = |(vm, side, credits)| Credited { vm, side, credits, space: 0 };
        let sides = pools.sides().filter(|_| critical).map(credited).collect();
        let base = counter.count().unwrap_or(0);
        Self { counter, pools, sides, base, left: None, others: 0, mark: base, last: None }
    }

    /// Returns the accesses of the VCPU to run since the last decision, if `count` is the count.
    fn own(&self, count: u64) -> u64 {
        count.saturating_sub(self.base).saturating_sub(self.others)
    }
}

/// VCPUs of a PCPU take accesses from the budgets of their VMs.
struct Taker<'a> {
    pools: &'a Pools,
    seats: &'a [Seat],
    records: &'a mut Writer,
    /// Time of records.
    now: u64,
}

impl Grants for Taker<'_> {
    fn take(&mut self, place: usize, debt: u64, now: Instant) -> Grant {
        let none = Grant { accesses: 0, until: Instant(u64::MAX) };
        let Some(Seat { id, .. }) = self.seats.get(place) else { return none };
        let vm = usize::from(id.vm);
        let Some(grant) = self.pools.with(vm, |pool| pool.take(debt, now)) else { return none };
        let later = if self.pools.is_later(vm, grant, now) { GRANT_LATER } else { 0 };
        let record = Record::new(self.now, Kind::Grant, id.vm, id.vcpu, grant.accesses | later);
        self.records.write(record);
        grant
    }

    fn give_back(&mut self, place: usize, rest: Grant) {
        if let Some(Seat { id, .. }) = self.seats.get(place) {
            self.pools.with(id.vm.into(), |pool| pool.give_back(rest));
        }
    }
}

impl Pcpu {
    /// Returns the count. If Linux did not count, nobody knows what VMs did: all stop.
    fn count(&self) -> Option<u64> {
        let regulation = self.regulation.as_ref()?;
        let count = regulation.counter.count();
        if count.is_none() {
            self.stop_counting();
        }
        count
    }

    fn stop_counting(&self) {
        let number = self.context.number;
        self.context.shared.fail(format!(
            "the memory accesses of PCPU {number} were not counted for some time, so that limits did not hold\n\
             help: end other programs that use the performance counters (`perf`, a watchdog: `sysctl kernel.nmi_watchdog=0`)"
        ));
    }

    /// Lets the counter wake this thread at the end of what is left.
    fn set_limit(&mut self, count: u64) {
        let Some(Regulation { counter, base, left, .. }) = &mut self.regulation else { return };
        if !counter.set_limit(left.map(|left| base.saturating_add(left)), count) {
            self.stop_counting();
        }
    }

    /// The thread begins to look at what there is to do, for whichever VCPU; or it ends, and looks whether all was counted.
    pub(super) fn mark_accesses(&mut self) {
        let count = self.count();
        if let (Some(regulation), Some(count)) = (&mut self.regulation, count) {
            regulation.mark = count;
        }
    }

    /// Tells the scheduler if the VCPU to run has made all accesses that it may make.
    pub(super) fn look_at_accesses(&mut self, now: u64) {
        let Some(Regulation { base, left: Some(left), .. }) = self.regulation else { return };
        let (Some(place), Some(count)) = (self.run, self.count()) else { return };
        match count.saturating_sub(base) < left {
            true => self.set_limit(count),
            false => self.decide(Event::Overflow(place), Kind::Overflow, now),
        }
    }

    /// This thread was woken, maybe at the end of what was left.
    pub(super) fn counter_rang(&mut self) {
        if let Some(regulation) = &mut self.regulation {
            regulation.counter.rang();
        }
    }

    /// Charges a VCPU for the accesses of this thread since the mark, which is set anew.
    pub(super) fn count_for(&mut self, place: usize, now: u64) {
        let count = self.count();
        let (Some(regulation), Some(count)) = (&mut self.regulation, count) else { return };
        let accesses = count.saturating_sub(regulation.mark);
        regulation.mark = count;
        if accesses == 0 || !regulation.pools.counts_memory() || self.run == Some(place) {
            return;
        }
        regulation.others += accesses;
        regulation.left = regulation.left.map(|left| left.saturating_add(accesses));
        self.charge(place, accesses, now);
        self.set_limit(count);
    }

    /// The VCPU blocked, and another one is about to execute: the accesses of this change count for the first.
    pub(super) fn count_switch_for(&mut self, place: usize, now: u64) {
        if let Some(regulation) = &mut self.regulation {
            regulation.mark = regulation.base + regulation.others;
            self.count_for(place, now);
        }
    }

    fn charge(&mut self, place: usize, accesses: u64, now: u64) {
        self.scheduler.account(place, accesses);
        self.record(now, Kind::Account, Some(place), accesses);
    }

    /// Nothing was to run: the VCPU that ran last pays for the accesses of this thread meanwhile.
    fn charge_idle(&mut self, count: u64, now: u64) {
        let Some(regulation) = &mut self.regulation else { return };
        if self.run.is_some() || !regulation.pools.counts_memory() {
            return;
        }
        let accesses = regulation.own(count).min(IDLE_MAX);
        if let Some(last) = regulation.last.take().filter(|_| accesses > 0) {
            self.charge(last, accesses, now);
        }
    }

    /// Decides as [`Pcpu::decide`] does, where accesses are counted.
    pub(super) fn decide_regulated(&mut self, event: Event, kind: Kind, now: u64) {
        // Without a count all stops soon; until then nothing was counted.
        let base = self.regulation.as_ref().map_or(0, |it| it.base);
        let count = self.count().unwrap_or(base);
        self.charge_idle(count, now);
        let Some(regulation) = &self.regulation else { return };
        let (ran, before, others) = (self.run, regulation.left, regulation.others);
        let accesses = regulation.own(count);
        let is_overflow = matches!(event, Event::Overflow(_));
        let limited = ran.filter(|_| before.is_some());
        if let Some(ran) = limited {
            match is_overflow || accesses == 0 {
                true => self.scheduler.account(ran, accesses),
                false => self.charge(ran, accesses, now),
            }
        }
        let told = limited.map_or(0, |_| accesses);
        let report = self.report(ran, accesses, now);
        self.record(now, kind, super::about(event), if is_overflow { told } else { 0 });
        let Some(regulation) = &mut self.regulation else { return };
        let mut taker = Taker {
            pools: &regulation.pools,
            seats: &self.seats,
            records: &mut self.context.records,
            now: self.last,
        };
        let decision = self.scheduler.step(event, Instant(now), &mut taker);
        let left = self.scheduler.accesses().filter(|_| decision.run.is_some());
        (regulation.base, regulation.left) = (count, left);
        (regulation.others, regulation.mark) = (0, count);
        if ran.is_some() {
            regulation.last = limited.filter(|_| decision.run.is_none());
        }
        self.set_limit(count);
        self.timer = decision.timer.map(|timer| timer.0).into_iter().chain(report).min();
        let goes_on = decision.run == ran
            && left.and_then(|left| left.checked_add(told)?.checked_add(others)) == before;
        let changes = decision.run != ran;
        self.act(decision.run, now);
        if changes {
            self.flush(now);
        }
        if !goes_on && let Some(left) = left {
            self.record(now, Kind::Recharge, self.run, left.min(NO_LIMIT));
        }
        self.take_news(now);
    }

    /// A VCPU ran and has made accesses: tells VMs that get credits where a period has ended. Returns when the next one does.
    fn report(&mut self, ran: Option<usize>, accesses: u64, now: u64) -> Option<u64> {
        let Regulation { sides, pools, .. } = self.regulation.as_mut()?;
        let seat = ran.map(|ran| &self.seats[ran]).filter(|seat| pools.is_critical(seat.id.vm));
        let accesses = if seat.is_some() { accesses } else { 0 };
        for Credited { vm, side, credits, space } in sides.iter_mut() {
            let Some((made, end)) = side.count(accesses, Instant(now)) else { continue };
            let seat = seat.filter(|_| credits.flush_task_switch && self.loaded == ran);
            let has_switched = seat.is_some_and(|seat| {
                let current = seat.vcpu.address_space();
                std::mem::replace(space, current) != current
            });
            pools.with(*vm, |pool| {
                pool.report(self.context.number as u32, made, end);
                if has_switched {
                    pool.flush(end);
                }
            });
        }
        sides.iter().map(|it| it.side.end().0).min()
    }

    /// Another VCPU is to run from now on: if it is critical, others give their credits up.
    fn flush(&self, now: u64) {
        let Some(Regulation { sides, pools, .. }) = &self.regulation else { return };
        let critical = self.run.is_some_and(|run| pools.is_critical(self.seats[run].id.vm));
        for Credited { vm, .. } in sides.iter().filter(|_| critical) {
            pools.with(*vm, |pool| pool.flush(Instant(now)));
        }
    }
}
