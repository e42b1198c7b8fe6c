//! A physical CPU while it is simulated: the next event on it, and what it does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use policy::cpu::{Cpu, Decision, Slot};
use policy::time::Instant;

use crate::vcpu::VcpuState;
use crate::{Error, Event, Observer, Pcpu};

/// A time that never comes.
pub const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub struct PcpuState {
    index: usize,
    cpu: Cpu<Vec<Slot>>,
    pub vcpus: Vec<VcpuState>,
    /// Next releases: time, VCPU, task.
    releases: BinaryHeap<Reverse<(u64, u32, u32)>>,
    decision: Decision,
    /// Until when execution has been accounted.
    now: u64,
}

impl PcpuState {
    pub fn new(index: usize, pcpu: &Pcpu, seed: u64, stream: &mut u64) -> Result<Self, Error> {
        let mut slots: Vec<Slot> = Vec::new();
        let (mut vcpus, mut releases) = (Vec::new(), BinaryHeap::new());
        let mut background = false;
        for (number, vcpu) in pcpu.vcpus.iter().enumerate() {
            let is_background = vcpu.server == policy::server::Policy::Background;
            if background && !is_background {
                return Err(Error::BackgroundFirst { vcpu: vcpu.name.clone() });
            }
            background = is_background;
            let server = |error| Error::Server { vcpu: vcpu.name.clone(), error };
            slots.push(Slot::new(vcpu.server).map_err(server)?);
            let state = VcpuState::new(vcpu, seed, stream)?;
            for (task, jobs) in state.tasks.iter().enumerate() {
                releases.push(Reverse((jobs.first_release(), number as u32, task as u32)));
            }
            vcpus.push(state);
        }
        let mut cpu = Cpu::new(slots);
        let decision = cpu.tick(Instant(0));
        Ok(Self { index, cpu, vcpus, releases, decision, now: 0 })
    }

    /// Time of the next event.
    #[inline]
    pub fn next(&mut self) -> u64 {
        let timer = self.decision.timer.map_or(NEVER, |timer| timer.0);
        let release = self.releases.peek().map_or(NEVER, |Reverse((time, ..))| *time);
        let mut next = timer.min(release);
        if let Some(vcpu) = self.decision.run
            && let Some((_, jobs)) = self.vcpus[vcpu].running()
        {
            next = next.min(self.now.saturating_add(jobs.remaining));
        }
        next
    }

    /// Execution goes on until `now`, which is not after the next event.
    #[inline]
    pub fn advance(&mut self, now: u64) {
        let elapsed = now - self.now;
        self.now = now;
        if let Some(vcpu) = self.decision.run {
            let vcpu = &mut self.vcpus[vcpu];
            vcpu.statistics.supply_ns += elapsed;
            if let Some((_, jobs)) = vcpu.running() {
                jobs.remaining -= elapsed;
            }
        }
    }

    /// All that happens at the time of the next event; returns how many events that were.
    ///
    /// A job that ends when the next one of its VCPU is released does not put the
    /// VCPU to sleep: its timer interrupt is pending before it could wait for one.
    pub fn step<O: Observer>(&mut self, observer: &mut O) -> Result<u64, Error> {
        let (now, at) = (self.next(), self.index);
        self.advance(now);
        let before = self.decision.run;
        let mut events = 0;
        let mut emptied = None;
        if let Some(running) = before
            && let Some((task, jobs)) = self.vcpus[running].running()
            && jobs.remaining == 0
        {
            events += 1;
            let response_ns = jobs.complete(now);
            let more = jobs.remaining > 0;
            observer.event(now, at, Event::Complete { vcpu: running, task, response_ns });
            if !more {
                self.vcpus[running].ready.remove(task);
            }
            emptied = self.vcpus[running].ready.is_empty().then_some(running);
        }
        let mut decided = false;
        while let Some(&Reverse((time, vcpu, task))) = self.releases.peek()
            && time <= now
        {
            events += 1;
            let (vcpu, task) = (vcpu as usize, task as usize);
            observer.event(now, at, Event::Release { vcpu, task });
            let state = &mut self.vcpus[vcpu];
            let next = state.tasks[task].release(now)?;
            let was_idle = state.ready.is_empty();
            state.ready.insert(task);
            if let Some(mut first) = self.releases.peek_mut() {
                first.0.0 = next;
            }
            if emptied == Some(vcpu) {
                emptied = None;
            } else if was_idle {
                observer.event(now, at, Event::Wake { vcpu });
                self.decision = self.cpu.wake(vcpu, Instant(now));
                decided = true;
            }
        }
        if let Some(vcpu) = emptied {
            observer.event(now, at, Event::Block { vcpu });
            self.decision = self.cpu.block(vcpu, Instant(now));
        } else if !decided && self.decision.timer.is_some_and(|timer| timer.0 <= now) {
            events += 1;
            observer.event(now, at, Event::Tick);
            self.decision = self.cpu.tick(Instant(now));
        }
        if self.decision.run != before {
            match self.decision.run {
                None => observer.event(now, at, Event::Idle),
                Some(vcpu) => {
                    self.vcpus[vcpu].statistics.dispatches += 1;
                    let budget = self.cpu.slots()[vcpu].budget(Instant(now)).0;
                    let budget_ns = (budget < NEVER).then_some(budget);
                    observer.event(now, at, Event::Run { vcpu, budget_ns });
                }
            }
        }
        Ok(events)
    }
}
