//! All that happens on a PCPU at one time.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

use policy::cpu;

use super::PcpuState;
use crate::locks::LockState;
use crate::memory::Pools;
use crate::time::NEVER;
use crate::{Error, Event, Observer, Overheads};

impl PcpuState {
    /// Handles all events at the time of the next event; returns their number.
    ///
    /// A job that ends when the next one of its VCPU is released does not put the
    /// VCPU to sleep: its timer interrupt is pending before it could wait for one.
    pub fn step<O: Observer, const MEMORY: bool>(
        &mut self,
        now: u64,
        pools: &mut Pools,
        locks: Option<&mut LockState>,
        observer: &mut O,
    ) -> Result<u64, Error> {
        let at = self.index;
        self.advance::<MEMORY>(now);
        let before = self.decision.run;
        if MEMORY {
            self.show_accesses(now, observer);
        }
        let mut events = 0;
        let mut emptied = None;
        let owed = before.map_or(0, |running| self.vcpus[running].owed);
        if let Some(running) = before
            && let Some((task, jobs)) = self.vcpus[running].running()
            && jobs.remaining == 0
            && owed == 0
            && self.kicked == 0
            && jobs.to_section() > 0
            && (!MEMORY || jobs.stall == 0)
        {
            events += 1;
            self.complete(running, task, now, observer);
            emptied = self.vcpus[running].ready.is_empty().then_some(running);
        } else if let Some(running) = before
            && let Some(locks) = locks
            && !self.vcpus[running].users.is_empty()
        {
            events += self.pass_sections::<O, MEMORY>(running, now, pools, locks, observer);
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
            state.owed += self.overheads.interrupt;
            let was_idle = state.ready.is_empty() && !state.tasks[task].sections.waits;
            if !state.tasks[task].sections.waits {
                state.ready.insert(task);
            }
            if let Some(mut first) = self.releases.peek_mut() {
                match next {
                    NEVER => drop(PeekMut::pop(first)),
                    next => first.0.0 = next,
                }
            }
            if emptied == Some(vcpu) && was_idle {
                emptied = None;
            } else if was_idle {
                observer.event(now, at, Event::Wake { vcpu });
                self.end_kicks(vcpu);
                let before = self.decision.run;
                self.decide::<O, MEMORY>(cpu::Event::Wake(vcpu), now, pools, observer);
                self.charge_decision(before, Some(vcpu));
                decided = true;
            }
        }
        if let Some(vcpu) = emptied {
            observer.event(now, at, Event::Block { vcpu });
            let pays = self.decision.run == Some(vcpu);
            self.decide::<O, MEMORY>(cpu::Event::Block(vcpu), now, pools, observer);
            if pays {
                let Overheads { switch, kicks, .. } = self.overheads;
                self.busy_until = now.max(self.busy_until).saturating_add(switch);
                self.vcpus[vcpu].kicks = kicks;
                self.kicks += kicks;
            }
        } else if !decided && self.decision.timer.is_some_and(|timer| timer.0 <= now) {
            events += 1;
            observer.event(now, at, Event::Tick);
            self.decide::<O, MEMORY>(cpu::Event::Tick, now, pools, observer);
            self.charge_decision(before, None);
        } else if MEMORY
            && !decided
            && let Some(vcpu) = self.decision.run
            && self.cpu.accesses().is_some_and(|most| self.memory.since >= most)
        {
            events += 1;
            observer.event(now, at, Event::Overflow { vcpu });
            self.decide::<O, MEMORY>(cpu::Event::Overflow(vcpu), now, pools, observer);
            self.charge_decision(before, None);
        } else if !decided && self.next_kick() <= now {
            events += 1;
            self.kick::<O, MEMORY>(now, pools, observer);
        }
        self.show_decision::<O, MEMORY>(before, now, pools, observer);
        if MEMORY {
            self.look_at_task(now, pools);
        }
        Ok(events)
    }

    /// The first job of a task is complete.
    #[inline]
    pub(super) fn complete<O: Observer>(
        &mut self,
        vcpu: usize,
        task: usize,
        now: u64,
        observer: &mut O,
    ) {
        let state = &mut self.vcpus[vcpu];
        let jobs = &mut state.tasks[task];
        let response_ns = jobs.complete(now);
        let more = jobs.remaining > 0;
        observer.event(now, self.index, Event::Complete { vcpu, task, response_ns });
        if !more {
            state.ready.remove(task);
        }
        let rings = self.ringers.iter().filter(|it| (it.0, it.1) == (vcpu, task));
        self.rung.extend(rings.map(|(.., channel)| channel));
    }
}
