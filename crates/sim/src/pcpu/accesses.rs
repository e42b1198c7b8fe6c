//! The memory accesses of the VCPU that runs.

use super::PcpuState;
use crate::memory::Pools;
use crate::{Accesses, Event, Observer};

impl PcpuState {
    /// Shows the accesses that were made until now.
    pub fn show_accesses<O: Observer>(&mut self, now: u64, observer: &mut O) {
        if let Some(vcpu) = self.decision.run
            && self.memory.unseen > 0
        {
            let accesses = std::mem::take(&mut self.memory.unseen);
            observer.event(now, self.index, Event::Access { vcpu, accesses });
        }
    }

    /// Lets the running job make up to this number of accesses together with others, if it makes
    /// accesses and its VCPU may. Returns the VCPU and the number of accesses.
    pub fn access_with(&mut self, accesses: u64) -> Option<(usize, u64)> {
        let left = self.cpu.accesses().map(|most| most.saturating_sub(self.memory.since));
        let run = self.decision.run?;
        let vcpu = &mut self.vcpus[run];
        let (_, jobs) = vcpu.running()?;
        if jobs.accesses() != Accesses::WithOthers {
            return None;
        }
        let made = left.map_or(accesses, |left| left.min(accesses));
        if made > 0 {
            jobs.made += made;
            vcpu.statistics.accesses += made;
            self.memory.add(made, self.now, vcpu.critical);
            self.memory.unseen -= made;
        }
        Some((run, made))
    }

    /// Delays the accesses that the running job has just made.
    pub fn wait(&mut self, delay: u64) {
        if let Some(run) = self.decision.run
            && let vcpu = &mut self.vcpus[run]
            && let Some((_, jobs)) = vcpu.running()
        {
            jobs.stall += delay;
            vcpu.statistics.delayed_ns += delay;
        }
    }

    /// A critical VCPU may go on with another task.
    pub(super) fn look_at_task(&mut self, now: u64, pools: &mut Pools) {
        if let Some(run) = self.decision.run
            && self.vcpus[run].critical
        {
            let task = self.vcpus[run].ready.highest().map(|task| (run, task));
            if self.memory.task != task {
                self.memory.task = task;
                pools.flush(now, true);
            }
        }
    }
}
