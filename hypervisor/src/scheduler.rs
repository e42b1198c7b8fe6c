//! Which VCPU of a PCPU runs: tells the policy what happens, and the trace what it was told
//! and what it decided.

use alloc::vec::Vec;

use bulkhead_abi::trace::Kind;
use policy::cpu::{Cpu, Slot};
use policy::server;
use policy::time::Instant;

/// What happens. VCPUs are numbered by priority, the highest first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// The VCPU has something to do.
    Wake(usize),
    /// The VCPU has nothing to do any more.
    Block(usize),
    /// Time has passed.
    Tick,
}

/// The scheduler of a PCPU.
#[derive(Debug)]
pub struct Scheduler {
    cpu: Cpu<Vec<Slot>>,
    run: Option<usize>,
    timer: Option<u64>,
}

impl Scheduler {
    /// Nothing has happened yet. `None` if a server cannot be.
    pub fn new(servers: impl Iterator<Item = server::Policy>) -> Option<Self> {
        let mut slots = Vec::new();
        for server in servers {
            slots.push(Slot::new(server).ok()?);
        }
        Some(Self { cpu: Cpu::new(slots), run: None, timer: None })
    }

    /// Decides because of an event at `now`, in ticks. `record` gets kind, VCPU and argument
    /// of what belongs into the trace.
    #[inline]
    pub fn decide(
        &mut self,
        event: Event,
        now: u64,
        mut record: impl FnMut(Kind, Option<usize>, u64),
    ) {
        let instant = Instant(now);
        let decision = match event {
            Event::Wake(vcpu) => {
                record(Kind::Wake, Some(vcpu), 0);
                self.cpu.wake(vcpu, instant)
            }
            Event::Block(vcpu) => {
                record(Kind::Block, Some(vcpu), 0);
                self.cpu.block(vcpu, instant)
            }
            Event::Tick => {
                record(Kind::Tick, None, 0);
                self.cpu.tick(instant)
            }
        };
        if decision.run != self.run {
            match decision.run.and_then(|vcpu| self.cpu.slots().get(vcpu)) {
                // The largest number stays so when it is cut: no limit.
                Some(slot) => record(Kind::VcpuRun, decision.run, slot.budget(instant).0),
                None => record(Kind::Idle, None, 0),
            }
        }
        self.run = decision.run;
        self.timer = decision.timer.map(|timer| timer.0);
    }

    /// The VCPU to run.
    pub fn run(&self) -> Option<usize> {
        self.run
    }

    /// When [`Event::Tick`] is due, in ticks.
    pub fn timer(&self) -> Option<u64> {
        self.timer
    }

    /// How many VCPUs it has.
    pub fn vcpus(&self) -> usize {
        self.cpu.slots().len()
    }

    /// Whether the VCPU has something to do.
    pub fn is_ready(&self, vcpu: usize) -> bool {
        self.cpu.slots().get(vcpu).is_some_and(Slot::is_ready)
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

    /// What an event at a time leaves in the trace.
    fn told(scheduler: &mut Scheduler, event: Event, now: u64) -> Vec<(Kind, Option<usize>, u64)> {
        let mut records = Vec::new();
        scheduler.decide(event, now, |kind, vcpu, argument| records.push((kind, vcpu, argument)));
        records
    }

    #[test]
    fn the_trace_has_inputs_and_then_what_changes() {
        let servers = [deferrable(3, 10), Policy::Background];
        let mut scheduler = Scheduler::new(servers.into_iter()).unwrap();
        let it = &mut scheduler;
        assert_eq!(told(it, Event::Wake(0), 90), [(Kind::Wake, Some(0), 0)], "before the epoch");
        assert_eq!(it.timer(), Some(100));
        assert_eq!(
            told(it, Event::Tick, 100),
            [(Kind::Tick, None, 0), (Kind::VcpuRun, Some(0), 3)]
        );
        assert_eq!((it.run(), it.timer()), (Some(0), Some(103)));
        assert_eq!(told(it, Event::Wake(1), 101), [(Kind::Wake, Some(1), 0)]);
        assert_eq!(
            told(it, Event::Tick, 103),
            [(Kind::Tick, None, 0), (Kind::VcpuRun, Some(1), u64::MAX)]
        );
        assert_eq!(Record::new(103, Kind::VcpuRun, 0, 1, u64::MAX).argument(), NO_LIMIT);
        assert_eq!(it.timer(), Some(110));
        assert_eq!(told(it, Event::Block(0), 104), [(Kind::Block, Some(0), 0)]);
        assert!(it.is_ready(1) && !it.is_ready(0) && !it.is_ready(2));
        assert_eq!(
            told(it, Event::Block(1), 105),
            [(Kind::Block, Some(1), 0), (Kind::Idle, None, 0)]
        );
        assert_eq!((it.run(), it.timer()), (None, None));
    }

    #[test]
    fn a_server_that_cannot_be_is_refused() {
        assert!(Scheduler::new([deferrable(11, 10)].into_iter()).is_none());
    }
}
