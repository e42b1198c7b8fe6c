//! The next event on a PCPU.

use std::cmp::Reverse;

use super::PcpuState;
use crate::Accesses;
use crate::time::NEVER;

impl PcpuState {
    /// Returns the time of the next event. `MEMORY`: memory is accessed; `CONTENTION`: accesses
    /// that can be delayed are events.
    #[inline]
    pub fn next<const MEMORY: bool>(&mut self, contention: bool) -> u64 {
        let timer = self.timer();
        let mut next = timer;
        let begin = self.begin();
        if let Some(vcpu) = self.decision.run
            && let Some((_, jobs)) = self.vcpus[vcpu].running()
        {
            next = next.min(begin.saturating_add(jobs.remaining.min(jobs.to_section())));
        }
        if MEMORY {
            next = self.next_with_memory(timer, contention);
        }
        next
    }

    /// Returns the time of the next event that does not depend on what the job does.
    #[inline]
    pub(super) fn timer(&self) -> u64 {
        let timer = self.decision.timer.map_or(NEVER, |timer| timer.0);
        let release = self.releases.peek().map_or(NEVER, |Reverse((time, ..))| *time);
        timer.min(release).min(self.next_kick())
    }

    /// The same where memory is accessed; `next`: the next event without what the job does.
    fn next_with_memory(&mut self, next: u64, contention: bool) -> u64 {
        let begin = self.begin();
        let Some(vcpu) = self.decision.run else { return next };
        let left = self.cpu.accesses().map(|most| most.saturating_sub(self.memory.since));
        let Some((_, jobs)) = self.vcpus[vcpu].running() else { return next };
        let mut after = jobs.stall.saturating_add(jobs.remaining.min(jobs.to_section()));
        if left == Some(0) {
            return next.min(self.now);
        } else if contention && matches!(jobs.accesses(), Accesses::PerJob(_)) {
            after = after.min(jobs.time_to(jobs.made + 1).unwrap_or(NEVER));
        } else if let Some(left) = left {
            let overflow = jobs.time_to(jobs.made.saturating_add(left));
            after = after.min(overflow.unwrap_or(NEVER));
        }
        next.min(begin.saturating_add(after))
    }

    /// Returns the time at which the running job continues if nothing else happens: after the
    /// overheads.
    #[inline]
    pub(super) fn begin(&self) -> u64 {
        let owed = self.decision.run.map_or(0, |run| self.vcpus[run].owed);
        self.now.max(self.busy_until).saturating_add(self.kicked).saturating_add(owed)
    }
}
