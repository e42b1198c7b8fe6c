//! Execution between two events.

use super::PcpuState;
use crate::Accesses;

impl PcpuState {
    /// Lets execution continue until `now`, which is not after the next event.
    #[inline]
    pub fn advance<const MEMORY: bool>(&mut self, now: u64) {
        let executes = self.pass::<MEMORY>(now);
        if let Some(vcpu) = self.decision.run {
            let vcpu = &mut self.vcpus[vcpu];
            let critical = vcpu.critical;
            let Some((_, jobs)) = vcpu.running() else { return };
            if !MEMORY {
                jobs.remaining -= executes;
                return;
            }
            let made = jobs.go_on(executes);
            if made > 0 {
                self.memory.add(made, now - jobs.since_access(), critical);
                if matches!(jobs.accesses(), Accesses::PerJob(_)) {
                    self.memory.fresh += made;
                }
                vcpu.statistics.accesses += made;
            }
        }
    }

    /// Lets time pass until `now`, and returns the time for which the running job executes or waits
    /// for accesses.
    #[inline]
    pub(super) fn pass<const MEMORY: bool>(&mut self, now: u64) -> u64 {
        let (elapsed, leaves) = (now - self.now, self.busy_until.clamp(self.now, now) - self.now);
        self.now = now;
        if MEMORY && elapsed > 0 {
            for &vcpu in &self.memory.regulated {
                if self.cpu.slots()[vcpu].recharges() {
                    self.vcpus[vcpu].statistics.throttled_ns += elapsed;
                }
            }
        }
        let Some(vcpu) = self.decision.run else { return 0 };
        let vcpu = &mut self.vcpus[vcpu];
        vcpu.statistics.supply_ns += elapsed - leaves;
        let kicked = self.kicked.min(elapsed - leaves);
        self.kicked -= kicked;
        let owed = vcpu.owed.min(elapsed - leaves - kicked);
        vcpu.owed -= owed;
        elapsed - leaves - kicked - owed
    }
}
