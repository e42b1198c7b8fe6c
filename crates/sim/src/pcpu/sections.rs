//! Jobs enter and leave critical sections, or wait for them.

use policy::cpu;

use super::PcpuState;
use crate::locks::{Grant, LockState};
use crate::memory::Pools;
use crate::{Event, Observer};

impl PcpuState {
    /// The VCPU that runs enters and leaves critical sections, as long as its jobs are at the edge of
    /// one and it runs. Returns how many edges that were.
    pub(super) fn pass_sections<O: Observer, const MEMORY: bool>(
        &mut self,
        vcpu: usize,
        now: u64,
        pools: &mut Pools,
        locks: &mut LockState,
        observer: &mut O,
    ) -> u64 {
        let (at, mut events) = (self.index, 0);
        while self.decision.run == Some(vcpu)
            && self.begin() <= now
            && let Some((task, jobs)) = self.vcpus[vcpu].running()
            && jobs.to_section() == 0
            && (!MEMORY || jobs.stall == 0)
            && let Some((resource, inside)) = jobs.sections.current()
        {
            events += 1;
            let global = locks.global[resource];
            let number = jobs.sections.number().unwrap_or_default();
            let state = &mut self.vcpus[vcpu];
            if global {
                state.owed += self.overheads.exit;
            }
            if inside {
                state.tasks[task].sections.pass();
                observer.event(now, at, Event::Unlock { vcpu, task, resource, global });
                if state.tasks[task].remaining == 0 && state.tasks[task].to_section() > 0 {
                    self.complete(vcpu, task, now, observer);
                }
                let state = &mut self.vcpus[vcpu];
                if global {
                    locks.unlock(at, vcpu, number, resource);
                    state.raised.remove(task);
                } else {
                    let _ = state.pcp.unlock(number, resource);
                }
            } else {
                let held = match global {
                    true => locks.lock(at, vcpu, number, resource),
                    false => state.pcp.lock(number, resource).unwrap_or(false),
                };
                if !held {
                    observer.event(now, at, Event::Wait { vcpu, task, resource, global });
                    if global {
                        state.tasks[task].sections.waits = true;
                        state.ready.remove(task);
                    }
                    continue;
                }
                observer.event(now, at, Event::Lock { vcpu, task, resource, global });
                state.tasks[task].sections.pass();
                if global {
                    state.raised.insert(task);
                }
            }
            if global && locks.ceilings {
                let inside = locks.in_gcs(at, vcpu);
                self.tell_gcs::<O, MEMORY>(vcpu, inside, now, pools, observer);
            }
        }
        events
    }

    /// Returns the running VCPU, if its job requests a global resource at that time.
    pub fn asks_at(&self, time: u64, global: &[bool]) -> Option<usize> {
        let vcpu = self.decision.run?;
        let state = &self.vcpus[vcpu];
        let jobs = state.tasks.get(state.running_task()?)?;
        let (resource, inside) = jobs.sections.current()?;
        let left = time.checked_sub(self.begin())?;
        let asks = !inside && global[resource] && jobs.to_section() == left;
        asks.then_some(vcpu)
    }

    /// Grants a task the resource for which it waited.
    pub fn granted<O: Observer, const MEMORY: bool>(
        &mut self,
        grant: Grant,
        now: u64,
        pools: &mut Pools,
        ceilings: bool,
        observer: &mut O,
    ) {
        let Grant { vcpu, number, .. } = grant;
        let Some(&task) = self.vcpus[vcpu].users.get(number) else { return };
        self.advance::<MEMORY>(now);
        if MEMORY {
            self.show_accesses(now, observer);
        }
        let before = self.decision.run;
        let state = &mut self.vcpus[vcpu];
        let was_idle = state.ready.is_empty();
        let sections = &mut state.tasks[task].sections;
        let resource = sections.current().map_or(0, |(resource, _)| resource);
        sections.waits = false;
        sections.pass();
        state.ready.insert(task);
        state.raised.insert(task);
        state.owed += self.overheads.interrupt;
        observer.event(now, self.index, Event::Lock { vcpu, task, resource, global: true });
        // In this order as in the hypervisor: the interrupt that wakes the VCPU comes last.
        if ceilings {
            self.tell_gcs::<O, MEMORY>(vcpu, true, now, pools, observer);
        }
        if was_idle {
            observer.event(now, self.index, Event::Wake { vcpu });
            self.end_kicks(vcpu);
            self.decide::<O, MEMORY>(cpu::Event::Wake(vcpu), now, pools, observer);
            self.charge_decision(before, Some(vcpu));
        }
        self.show_decision::<O, MEMORY>(before, now, pools, observer);
        if MEMORY {
            self.look_at_task(now, pools);
        }
    }
}
