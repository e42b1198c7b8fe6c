//! The scheduler of a PCPU: passes events and times to `policy::cpu` and records events and
//! decisions in the trace.
//!
//! # Time that EL2 takes from a VCPU for others
//!
//! In any window this is a sum of the parts below ("Who pays" in `ARCHITECTURE.md` has the rules).
//! `make bench-exits` checks the numbers of instructions, except for the console; `[overheads]` of
//! the platform has the times.
//!
//! | part | how often at most | instructions | `[overheads]` |
//! | --- | --- | ---: | --- |
//! | interrupts for another VCPU of the PCPU: three kicks, and two of each device of its VM | once, and once for each end of its budget; it pays for those that come while it waits with budget | 2,500 each, and 5,000 for each further VCPU of its VM, which may hold the lock of its interrupt controller | `kick`, `lock` |
//! | request for a resource that a VCPU of the PCPU holds | as often as other VCPUs may enter sections | 2,500 | `kick` |
//! | switch when the budget of a VCPU of higher priority ends | once for each end | 1,500 | `switch` |
//! | console, on the PCPU that serves it | the timer and a kick once in each millisecond, and the UART once more | 8,000 each | `console` |
//! | chunk of long work | once, and once more that the VCPU owes itself | 30,000 | `chunk` |
//!
//! For example, a periodic server with one other VCPU below it, whose VM has one device, loses `5
//! K` = 12,500 instructions to that VCPU before its job and as much in each of its periods: 12.5 us
//! on `qemu-virt`. A kick takes 1,828 instructions where two VCPUs share the PCPU, and 2,392 where
//! eight do. A CPU waits for each other CPU once (`lock::order`). The longest time that a lock
//! is held was measured with a guest that makes all interrupts of its controller pending, each more
//! urgent than the one before (`rt-storm`, mode `many`). The number for the console is computed
//! from the code for 48 bytes sent and 16 received; 817 instructions were measured.

use alloc::vec::Vec;

use abi::trace::Kind;
use policy::bandwidth::{Account, Grants};
pub use policy::cpu::Event;
use policy::cpu::{Cpu, Decision, News, Slot, fast};
use policy::lock::hold::Hold;
use policy::server;
use policy::time::{Duration, Instant};

use crate::timer::NEVER;

/// Returns the kind of the trace record of an event. A section has a record of its own before this
/// one, so that its decision is recorded like a tick.
#[inline(always)]
pub fn kind(event: Event) -> Kind {
    match event {
        Event::Wake(_) => Kind::Wake,
        Event::Block(_) => Kind::Block,
        Event::Kick(_) => Kind::Kick,
        Event::Tick | Event::EnterGcs(_) | Event::LeaveGcs(_) => Kind::Tick,
        Event::Overflow(_) => Kind::Overflow,
    }
}

/// Another VCPU is to run than before, or none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Change {
    /// The VCPU to run.
    pub run: Option<usize>,
    /// The time that it may run, in ticks; the largest number if there is no limit.
    pub budget: u64,
}

impl Change {
    /// Returns the kind of the trace record.
    pub fn kind(self) -> Kind {
        if self.run.is_some() { Kind::VcpuRun } else { Kind::Idle }
    }
}

/// The scheduler of a PCPU.
#[derive(Debug)]
pub struct Scheduler {
    cpu: Cpu<Vec<Slot>>,
    /// The VCPU to run, or [`NONE`].
    run: usize,
}

/// No VCPU.
const NONE: usize = usize::MAX;

impl Scheduler {
    /// Makes a scheduler for VCPUs with servers, memory budgets (for some) and limits of their time
    /// in global critical sections. `ceilings`: VCPUs in sections come first. `switch`: charge of a
    /// VCPU that blocks; `kick`: of one that waits, for each interrupt that does not wake it. Returns `None` if a server is not valid.
    pub fn new(
        vcpus: impl Iterator<Item = (server::Policy, Option<Account>, Hold)>,
        ceilings: bool,
        [switch, kick]: [Duration; 2],
    ) -> Option<Self> {
        let mut slots = Vec::new();
        for (server, account, hold) in vcpus {
            let slot = Slot::new(server).ok()?.with_hold(hold);
            slots.push(match account {
                Some(account) => slot.with_account(account),
                None => slot,
            });
        }
        let cpu = Cpu::new(slots).with_switch(switch).with_kick(kick);
        Some(Self { cpu: if ceilings { cpu.with_ceilings() } else { cpu }, run: NONE })
    }

    /// Returns true if [`fast::change_gcs`] does.
    #[inline(always)]
    pub fn change_gcs(&mut self, vcpu: usize, inside: bool, now: u64) -> bool {
        fast::change_gcs(&mut self.cpu, vcpu, inside, Instant(now))
    }

    /// [`Cpu::enter`].
    pub fn enter(&mut self, now: u64) {
        self.cpu.enter(Instant(now));
    }

    /// Returns true if [`Cpu::has_news`] does.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        self.cpu.has_news()
    }

    /// [`Cpu::take_news`], as the kind of a trace record and the VCPU.
    pub fn take_news(&mut self) -> Option<(Kind, usize)> {
        Some(match self.cpu.take_news()? {
            News::StoppedInGcs(vcpu) => (Kind::StopInGcs, vcpu),
            News::EndedGcs(vcpu) => (Kind::EndGcs, vcpu),
        })
    }

    /// [`Cpu::step`]: returns the change, if another VCPU is to run or none, and the time at which
    /// [`Event::Tick`] is due ([`NEVER`]: not at all). Times are in ticks.
    #[inline(always)]
    pub fn step(
        &mut self,
        event: Event,
        now: u64,
        grants: &mut dyn Grants,
    ) -> (Option<Change>, u64) {
        let decision = self.cpu.step(event, Instant(now), grants);
        self.change(decision)
    }

    /// [`fast::step_unregulated`], for CPUs whose VCPUs have no memory budgets.
    #[inline(always)]
    pub fn step_unregulated(&mut self, event: Event, now: u64) -> (Option<Change>, u64) {
        let decision = fast::step_unregulated(&mut self.cpu, event, Instant(now));
        self.change(decision)
    }

    #[inline(always)]
    fn change(&mut self, decision: Decision) -> (Option<Change>, u64) {
        let run = decision.run.unwrap_or(NONE);
        let change = (run != self.run).then(|| {
            self.run = run;
            Change { run: decision.run, budget: self.cpu.budget().0 }
        });
        (change, decision.timer.map_or(NEVER, |timer| timer.0))
    }

    /// [`Cpu::accesses`].
    #[inline(always)]
    pub fn accesses(&self) -> Option<u64> {
        self.cpu.accesses()
    }

    /// [`Cpu::account`].
    #[inline(always)]
    pub fn account(&mut self, vcpu: usize, accesses: u64) {
        self.cpu.account(vcpu, accesses);
    }

    /// Returns true if [`fast::stop_alone`] does: nothing runs then.
    #[inline(always)]
    pub fn stop_alone(&mut self, accesses: u64, now: u64) -> bool {
        let stops = fast::stop_alone(&mut self.cpu, accesses, Instant(now));
        if stops {
            self.run = NONE;
        }
        stops
    }

    /// [`fast::resume_alone`].
    #[inline(always)]
    pub fn resume_alone(&mut self, now: u64) -> Option<(u64, u64)> {
        let (accesses, until) = fast::resume_alone(&mut self.cpu, Instant(now))?;
        self.run = 0;
        Some((accesses, until.0))
    }

    /// Returns the number of VCPUs.
    pub fn vcpus(&self) -> usize {
        self.cpu.slots().len()
    }
}

#[cfg(test)]
mod tests {
    use abi::trace::{NO_LIMIT, Record};
    use policy::bandwidth::{self, NoGrants};
    use policy::server::{Parameters, Policy};

    use super::*;

    const UNLIMITED: Hold = Hold::UNLIMITED;

    impl Scheduler {
        fn decide(&mut self, event: Event, now: u64) -> (Option<Change>, u64) {
            self.step(event, now, &mut NoGrants)
        }
    }

    fn deferrable(budget: u64, period: u64) -> Policy {
        Policy::Deferrable(Parameters {
            budget: Duration(budget),
            period: Duration(period),
            start: Instant(100),
            overrun: Duration::ZERO,
        })
    }

    #[test]
    fn changes_are_told_with_their_budgets() {
        let servers =
            [deferrable(3, 10), Policy::Background].map(|server| (server, None, UNLIMITED));
        let mut scheduler = Scheduler::new(servers.into_iter(), true, [Duration::ZERO; 2]).unwrap();
        let it = &mut scheduler;
        let change = |run, budget| Some(Change { run, budget });
        assert_eq!(it.decide(Event::Wake(0), 90), (None, 100), "before the epoch");
        assert_eq!(it.decide(Event::Tick, 100), (change(Some(0), 3), 103));
        assert_eq!(it.decide(Event::Wake(1), 101), (None, 103));
        assert_eq!(it.decide(Event::Tick, 103), (change(Some(1), u64::MAX), 110));
        assert_eq!(it.decide(Event::Block(0), 104), (None, NEVER));
        assert_eq!(it.decide(Event::Block(1), 105), (change(None, 0), NEVER));
    }

    #[test]
    fn the_trace_has_a_name_for_each_event_and_change() {
        let events =
            [Event::Wake(1), Event::Block(1), Event::Kick(1), Event::Tick, Event::Overflow(1)];
        let kinds = [Kind::Wake, Kind::Block, Kind::Kick, Kind::Tick, Kind::Overflow];
        assert_eq!(events.map(kind), kinds);
        assert_eq!([Event::EnterGcs(1), Event::LeaveGcs(1)].map(kind), [Kind::Tick; 2]);
        let of = |run| Change { run, budget: u64::MAX }.kind();
        assert_eq!((of(Some(0)), of(None)), (Kind::VcpuRun, Kind::Idle));
        assert_eq!(Record::new(103, Kind::VcpuRun, 0, 1, u64::MAX).argument(), NO_LIMIT);
    }

    #[test]
    fn sections_that_are_too_long_are_told() {
        let low = (deferrable(8, 10), None, Hold::new(Duration(3)));
        let servers = [(deferrable(3, 10), None, UNLIMITED), low];
        let mut it = Scheduler::new(servers.into_iter(), true, [Duration::ZERO; 2]).unwrap();
        it.decide(Event::Wake(1), 100);
        assert!(it.change_gcs(1, true, 101));
        assert_eq!(it.decide(Event::Wake(0), 102), (None, 104));
        let change = |run, budget| Some(Change { run, budget });
        assert_eq!(it.decide(Event::Tick, 104), (change(Some(0), 3), 107));
        assert!(it.has_news());
        assert_eq!((it.take_news(), it.take_news()), (Some((Kind::EndGcs, 1)), None));
        // Once more, and not for too long.
        it.decide(Event::Block(0), 105);
        assert_eq!(it.decide(Event::EnterGcs(1), 105), (None, 108));
        it.decide(Event::LeaveGcs(1), 107);
        assert!(!it.has_news());
    }

    #[test]
    fn a_server_that_cannot_be_is_refused() {
        assert!(
            Scheduler::new(
                [(deferrable(11, 10), None, UNLIMITED)].into_iter(),
                true,
                [Duration::ZERO; 2]
            )
            .is_none()
        );
    }

    #[test]
    fn a_vcpu_runs_while_it_has_accesses() {
        let budget = |budget, period| bandwidth::Parameters {
            budget,
            period: Duration(period),
            start: Instant(100),
        };
        let account = Account::own(budget(50, 20)).unwrap();
        let vcpus =
            [(deferrable(10, 10), Some(account), UNLIMITED), (Policy::Background, None, UNLIMITED)];
        let mut scheduler = Scheduler::new(vcpus.into_iter(), false, [Duration::ZERO; 2]).unwrap();
        let change = |run, budget| Some(Change { run, budget });
        let mut decide = |accesses, event, now| {
            scheduler.account(0, accesses);
            let (change, timer) = scheduler.decide(event, now);
            (change, timer, scheduler.accesses())
        };
        decide(0, Event::Wake(1), 90);
        assert_eq!(decide(0, Event::Wake(0), 100), (change(Some(0), u64::MAX), 120, Some(50)));
        assert_eq!(decide(20, Event::Tick, 105), (None, 120, Some(30)));
        let (changed, timer, limit) = decide(31, Event::Overflow(0), 110);
        assert_eq!((changed, timer, limit), (change(Some(1), u64::MAX), 120, None));
        // It pays for the access that was too much.
        assert_eq!(decide(0, Event::Tick, 121), (change(Some(0), u64::MAX), 140, Some(49)));
    }
}
