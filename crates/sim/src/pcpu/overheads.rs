//! The time that the hypervisor takes from the VCPU that runs.

use super::PcpuState;
use crate::Overheads;

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
}
