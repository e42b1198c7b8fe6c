//! The time that the hypervisor takes from the VCPU that runs.

use policy::cpu;

use super::PcpuState;
use crate::memory::Pools;
use crate::time::NEVER;
use crate::{Event, Observer, Overheads};

impl PcpuState {
    /// The hypervisor takes this much before the tasks of the VCPU that runs go on.
    pub(super) fn charge(&mut self, cost: u64) {
        if let Some(run) = self.decision.run {
            self.vcpus[run].owed += cost;
        }
    }

    /// A VCPU has woken, or time has passed: what that costs the one that runs, where `before` ran before.
    pub(super) fn charge_decision(&mut self, before: Option<usize>, woken: Option<usize>) {
        let Overheads { switch, tick, kick, kicks, .. } = self.overheads;
        self.charge(match woken {
            // One that was for the other one may be on its way.
            _ if before.is_some() && self.decision.run != before => switch + kick * kicks.min(1),
            _ if self.decision.run != before => switch,
            Some(vcpu) if self.decision.run == Some(vcpu) => 0,
            Some(_) => kick,
            None => tick,
        });
    }

    /// Returns the time of the next interrupt for a VCPU that waits: as soon as another VCPU executes
    /// and the interrupt before is over.
    #[inline]
    pub(super) fn next_kick(&self) -> u64 {
        match self.kicks > 0 && self.decision.run.is_some() {
            true => self.now.max(self.busy_until).saturating_add(self.kicked),
            false => NEVER,
        }
    }

    /// The VCPU waits no more.
    pub(super) fn end_kicks(&mut self, vcpu: usize) {
        self.kicks -= std::mem::take(&mut self.vcpus[vcpu].kicks);
    }

    /// An interrupt comes for the first VCPU that waits for some.
    pub(super) fn kick<O: Observer, const MEMORY: bool>(
        &mut self,
        now: u64,
        pools: &mut Pools,
        observer: &mut O,
    ) {
        let Some(vcpu) = self.vcpus.iter().position(|vcpu| vcpu.kicks > 0) else { return };
        self.vcpus[vcpu].kicks -= 1;
        self.kicks -= 1;
        self.kicked = self.overheads.kick;
        let before = self.decision.run;
        observer.event(now, self.index, Event::Kick { vcpu });
        self.decide::<O, MEMORY>(cpu::Event::Kick(vcpu), now, pools, observer);
        if self.decision.run != before {
            self.charge_decision(before, None);
        }
    }
}
