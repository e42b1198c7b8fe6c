//! Regulation: the VCPUs of a PCPU are held to memory budgets.
//!
//! The counter of the PCPU counts for the VCPU that is to run, from the event that led to that until
//! the next one, also what EL2 does for it. Its count is told to the scheduler before
//! each event. Then the counter is set to interrupt after as many accesses as are left. So the account of
//! a VCPU is kept with the scheduler, and nothing of it in the counter while others run.
//!
//! The counter never stops: the accesses of EL2 while it decides are part of the count that is told next. If nothing
//! is to run, the VCPU that ran last pays for what it takes to stop it and to start the next one, up to
//! [`IDLE_MAX`].
//!
//! The accesses of EL2 while it serves an interrupt that came for another VCPU, and while it goes over from a VCPU that
//! blocked to the next one, count for that other VCPU: its account is charged at once ([`Pcpu::count_for`]), and the limit of
//! the counter grows by as much.
//!
//! The interrupt may come late, when another event has led to a decision already: then the
//! counter is below its new limit, and the interrupt is nothing.

mod critical;
mod grants;

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use abi::limits::{LINKS_MAX, SERIAL_LINES_MAX};
use abi::trace::{Kind, NO_LIMIT};
use policy::bandwidth::overshoot;

use super::{Assignment, Pcpu};
use crate::arch::counter::{self, Counter};
use crate::arch::percpu::StaticRef;
use crate::arch::{cpu, gic};
use crate::lock::Own;
use crate::plan;
use crate::scheduler::{self, Event, Scheduler};
use crate::timer::Purpose;
pub(super) use critical::Side;
use grants::Pools;

/// The state of a PCPU that counts accesses.
pub(super) struct Regulation {
    pub(super) scheduler: Own<Scheduler>,
    counter: Counter,
    /// INTID of the interrupt of the counter.
    interrupt: u32,
    /// Accesses that the VCPU to run may make, as of the last decision; all ones: no limit.
    left: AtomicU64,
    /// The part of the count that was charged to other VCPUs than the one to run.
    others: AtomicU64,
    /// The count when EL2 began to serve an interrupt, or when the last VCPU was charged for that.
    mark: AtomicU64,
    /// Nothing is to run, and this VCPU ran before, which had a limit.
    last: StaticRef<Assignment>,
    /// True if accesses to memory are counted.
    counts_memory: bool,
    /// The time at which the first period of all budgets starts.
    start: u64,
    /// The VMs that get credits for accesses that critical VCPUs of this PCPU do not make.
    sides: Vec<Side>,
}

/// Most accesses of EL2 for which a VCPU pays after it ran.
const IDLE_MAX: u64 = overshoot::ANY.with_lines((SERIAL_LINES_MAX + LINKS_MAX) as u64).idle;

/// No limit.
const UNLIMITED: u64 = u64::MAX;

impl Regulation {
    pub(super) fn new(
        scheduler: Scheduler,
        plan: &plan::Counter,
        pcpu: usize,
        start: u64,
        sides: Vec<Side>,
    ) -> Self {
        Self {
            scheduler: Own::new(scheduler),
            counter: counter::counter(plan, pcpu),
            interrupt: plan.interrupt(pcpu),
            left: AtomicU64::new(UNLIMITED),
            others: AtomicU64::new(0),
            mark: AtomicU64::new(0),
            last: StaticRef::empty(),
            counts_memory: plan.counts_memory(),
            start,
            sides,
        }
    }

    /// The counter counts on from the shown count, up to the limit, for the VCPU that is to run then.
    #[inline(always)]
    fn restart(&self, limit: Option<u64>, counted: u64) {
        self.set_limit(limit, counted);
        self.forget_others();
    }

    #[inline(always)]
    fn forget_others(&self) {
        self.others.store(0, Relaxed);
        self.mark.store(0, Relaxed);
    }

    /// [`Regulation::set_limit`], where it is not about a VCPU that is alone.
    #[inline(never)]
    fn set_limit_in_general(&self, limit: Option<u64>, counted: u64) {
        self.set_limit(limit, counted);
    }

    /// [`Counter::set_limit`].
    #[inline(always)]
    fn set_limit(&self, limit: Option<u64>, counted: u64) {
        self.counter.set_limit(limit, counted);
        self.left.store(limit.unwrap_or(UNLIMITED), Relaxed);
    }

    /// Returns the accesses that the counter has shown since the mark, which is set anew.
    #[inline(never)]
    fn take_since_mark(&self) -> u64 {
        let counted = self.counter.accesses();
        let since = counted.saturating_sub(self.mark.load(Relaxed));
        self.mark.store(counted, Relaxed);
        since
    }

    /// Returns `counted` without the accesses that were charged to other VCPUs.
    #[inline(always)]
    fn own(&self, counted: u64) -> u64 {
        counted.saturating_sub(self.others.load(Relaxed))
    }
}

impl Pcpu {
    /// Returns true if an interrupt is that of the counter of this CPU.
    #[inline(always)]
    pub fn is_overflow(&self, intid: u32) -> bool {
        self.regulation.own().is_some_and(|regulation| regulation.interrupt == intid)
    }

    /// The counter of this CPU interrupts, whose guest ran. Ends and deactivates the interrupt, and
    /// goes on with what is to run then, mostly nothing.
    #[inline(never)]
    pub fn overflow(&'static self, intid: u32) -> ! {
        self.overflow_in_el2();
        gic::end(intid);
        gic::deactivate(intid);
        self.idle()
    }

    /// The same in EL2, which goes on. The caller ends and deactivates the interrupt.
    #[inline(never)]
    pub fn overflow_in_el2(&'static self) {
        let Some(regulation) = self.regulation.own() else { return };
        regulation.counter.acknowledge();
        let (counted, Some(at)) = (regulation.counter.accesses(), self.next.own()) else { return };
        if counted < regulation.left.load(Relaxed) {
            return;
        }
        let now = cpu::now();
        if !self.stop_alone(regulation, at, counted, now) {
            self.decide_regulated(Event::Overflow(at.slot), Some(at), now);
            self.program_timer(self.first_deadline());
        }
    }

    /// The VCPU that is to run, the only one of this CPU, has made all its accesses: it has to
    /// wait. Returns false if there is something to decide. The timer is set for the end of the period.
    #[inline(always)]
    fn stop_alone(
        &'static self,
        regulation: &Regulation,
        at: &'static Assignment,
        counted: u64,
        now: u64,
    ) -> bool {
        let accesses = regulation.own(counted);
        let stops =
            regulation.sides.is_empty() && regulation.scheduler.lock().stop_alone(accesses, now);
        if stops {
            self.record_at(now, Some(at), Kind::Overflow, accesses);
            self.record_at(now, None, Kind::Idle, 0);
            regulation.restart(None, counted);
            regulation.last.set_own(Some(at));
            at.vcpu.stolen.begin(now);
            at.vcpu.attention.leave();
            self.next.set_own(None);
        }
        stops
    }

    /// Lets the VCPU, the only one of this CPU, run again if it has got accesses by now. Returns true if it has.
    #[inline(always)]
    fn resume_alone(&'static self, regulation: &Regulation, counted: u64, now: u64) -> bool {
        let Some(at) = self.assignments().first().filter(|_| regulation.sides.is_empty()) else {
            return false;
        };
        let Some((limit, until)) = regulation.scheduler.lock().resume_alone(now) else {
            return false;
        };
        self.record_at(now, None, Kind::Tick, 0);
        self.record_at(now, Some(at), Kind::VcpuRun, NO_LIMIT);
        self.record_at(now, Some(at), Kind::Recharge, limit);
        self.deadlines.set(Purpose::Scheduling, until);
        at.vm.tell_stolen(at.vcpu.index, at.vcpu.stolen.end(now));
        self.next.set_own(Some(at));
        regulation.restart(Some(limit), counted);
        true
    }

    /// EL2 begins to serve an interrupt, for whichever VCPU.
    #[inline(always)]
    pub fn mark_accesses(&self) {
        if let Some(regulation) = self.regulation.own() {
            regulation.take_since_mark();
        }
    }

    /// Charges this VCPU for the accesses of EL2 since the mark. Sets the mark anew.
    #[inline(never)]
    pub fn count_for(&self, at: &Assignment, now: u64) {
        let Some(regulation) = self.regulation.own() else { return };
        let accesses = regulation.take_since_mark();
        if accesses > 0 && regulation.counts_memory && !self.is_next(at) {
            self.charge_other(regulation, at, accesses, now);
        }
    }

    #[inline(never)]
    fn charge_other(&self, regulation: &Regulation, at: &Assignment, accesses: u64, now: u64) {
        let Regulation { scheduler, left, others, .. } = regulation;
        self.charge(scheduler, at, accesses, now);
        others.store(others.load(Relaxed) + accesses, Relaxed);
        let limit = left.load(Relaxed);
        if limit != UNLIMITED {
            regulation.set_limit_in_general(Some(limit + accesses), 0);
        }
    }

    /// The VCPU blocked, and another one is about to execute: the accesses of this change count for the first.
    #[inline(always)]
    pub(super) fn count_switch_for(&self, at: &Assignment, now: u64) {
        if let Some(regulation) = self.regulation.own() {
            regulation.mark.store(regulation.others.load(Relaxed), Relaxed);
            self.count_for(at, now);
        }
    }

    /// Decides like [`Pcpu::decide`], where accesses are counted.
    #[inline(never)]
    pub(super) fn decide_regulated(&'static self, event: Event, at: Option<&Assignment>, now: u64) {
        let Some(regulation) = self.regulation.own() else { return };
        let counted = regulation.counter.accesses();
        if self.next.own().is_none() {
            self.charge_idle(regulation, counted, now);
            if event == Event::Tick && self.resume_alone(regulation, counted, now) {
                return;
            }
        }
        self.regulate(regulation, event, at, counted, now);
    }

    /// Nothing was to run: the VCPU that ran last pays for the accesses of EL2 meanwhile.
    #[inline(always)]
    fn charge_idle(&self, regulation: &Regulation, counted: u64, now: u64) {
        let Some(last) = regulation.last.own().filter(|_| regulation.counts_memory) else { return };
        regulation.last.set_own(None);
        let accesses = regulation.own(counted).min(IDLE_MAX);
        if accesses > 0 {
            self.charge(&regulation.scheduler, last, accesses, now);
        }
    }

    #[inline(never)]
    fn charge(&self, scheduler: &Own<Scheduler>, at: &Assignment, accesses: u64, now: u64) {
        scheduler.lock().account(at.slot, accesses);
        self.record_rare(now, Some(at), Kind::Account, accesses);
    }

    /// `counted`: the count of accesses.
    #[inline(never)]
    fn regulate(
        &'static self,
        regulation: &Regulation,
        event: Event,
        at: Option<&Assignment>,
        counted: u64,
        now: u64,
    ) {
        let Regulation { scheduler, left, last, sides, .. } = regulation;
        let ran = self.next.own();
        let accesses = regulation.own(counted);
        let before = left.load(Relaxed);
        let mut told = 0;
        let mut scheduler = scheduler.lock();
        if before != UNLIMITED
            && let Some(ran) = ran
        {
            scheduler.account(ran.slot, accesses);
            told = accesses;
            if accesses > 0 && !matches!(event, Event::Overflow(_)) {
                self.record_rare(now, Some(ran), Kind::Account, accesses);
            }
        }
        let reports = match sides.is_empty() {
            true => u64::MAX,
            false => self.report(sides, ran, accesses, now),
        };
        let argument = if matches!(event, Event::Overflow(_)) { told } else { 0 };
        self.record_rare(now, at, scheduler::kind(event), argument);
        let mut pools = Pools { pcpu: self, start: regulation.start };
        let (change, timer) = scheduler.step(event, now, &mut pools);
        let limit = scheduler.accesses();
        let has_news = scheduler.has_news();
        drop(scheduler);
        let others = counted - accesses;
        regulation.set_limit_in_general(limit, counted);
        regulation.forget_others();
        let limit = limit.unwrap_or(UNLIMITED);
        self.deadlines.set(Purpose::Scheduling, timer.min(reports));
        let goes_on = change.is_none() && limit.wrapping_add(told).wrapping_add(others) == before;
        if let Some(change) = change {
            self.change(change, now);
            if !sides.is_empty() {
                self.flush(sides, now);
            }
        }
        if let Some(ran) = ran {
            let idles = before != UNLIMITED && self.next.own().is_none();
            last.set_own(idles.then_some(ran));
        }
        if !goes_on && limit != UNLIMITED {
            self.record_rare(now, self.next.own(), Kind::Recharge, limit);
        }
        if has_news {
            self.tell_news(&regulation.scheduler, now);
        }
    }
}
