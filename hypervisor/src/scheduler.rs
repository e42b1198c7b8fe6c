//! Which VCPU of a PCPU runs: tells the policy what happens.

use alloc::vec::Vec;

use bulkhead_abi::trace::Kind;
pub use policy::cpu::Event;
use policy::cpu::{Cpu, Slot};
use policy::server;
use policy::time::Instant;

use crate::timer::NEVER;

/// What the trace calls an event.
pub fn kind(event: Event) -> Kind {
    match event {
        Event::Wake(_) => Kind::Wake,
        Event::Block(_) => Kind::Block,
        Event::Tick | Event::Overflow(_) => Kind::Tick,
    }
}

/// Another VCPU is to run than before, or none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Change {
    /// Which.
    pub run: Option<usize>,
    /// How long at most, in ticks; the largest number if there is no limit.
    pub budget: u64,
}

impl Change {
    /// What the trace calls it.
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
    /// Nothing has happened yet. `None` if a server cannot be.
    pub fn new(servers: impl Iterator<Item = server::Policy>) -> Option<Self> {
        let mut slots = Vec::new();
        for server in servers {
            slots.push(Slot::new(server).ok()?);
        }
        Some(Self { cpu: Cpu::new(slots), run: NONE })
    }

    /// Decides because of an event at `now`: what changes, and when [`Event::Tick`] is due,
    /// if nothing happens before ([`NEVER`]: not at all). Times are in ticks.
    #[inline]
    pub fn decide(&mut self, event: Event, now: u64) -> (Option<Change>, u64) {
        let decision = self.cpu.decide(event, Instant(now));
        let run = decision.run.unwrap_or(NONE);
        let change = (run != self.run).then(|| {
            self.run = run;
            Change { run: decision.run, budget: self.cpu.budget().0 }
        });
        (change, decision.timer.map_or(NEVER, |timer| timer.0))
    }

    /// How many VCPUs it has.
    pub fn vcpus(&self) -> usize {
        self.cpu.slots().len()
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_abi::trace::{NO_LIMIT, Record};
    use policy::server::{Parameters, Policy};
    use policy::time::Duration;

    use super::*;

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
        let servers = [deferrable(3, 10), Policy::Background];
        let mut scheduler = Scheduler::new(servers.into_iter()).unwrap();
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
        let events = [Event::Wake(1), Event::Block(1), Event::Tick];
        assert_eq!(events.map(kind), [Kind::Wake, Kind::Block, Kind::Tick]);
        let of = |run| Change { run, budget: u64::MAX }.kind();
        assert_eq!((of(Some(0)), of(None)), (Kind::VcpuRun, Kind::Idle));
        assert_eq!(Record::new(103, Kind::VcpuRun, 0, 1, u64::MAX).argument(), NO_LIMIT);
    }

    #[test]
    fn a_server_that_cannot_be_is_refused() {
        assert!(Scheduler::new([deferrable(11, 10)].into_iter()).is_none());
    }
}
