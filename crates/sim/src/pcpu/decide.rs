//! The inputs of the scheduler, and what is seen of its decisions.

use policy::bandwidth::NoGrants;
use policy::cpu::{self, News};
use policy::time::Instant;

use super::PcpuState;
use crate::memory::{PcpuGrants, Pools};
use crate::time::NEVER;
use crate::{Event, Observer};

impl PcpuState {
    #[inline(always)]
    pub(super) fn decide<O: Observer, const MEMORY: bool>(
        &mut self,
        event: cpu::Event,
        now: u64,
        pools: &mut Pools,
        observer: &mut O,
    ) {
        if !MEMORY {
            self.decision = self.cpu.step(event, Instant(now), &mut NoGrants);
            return self.show_news(now, observer);
        }
        let since = std::mem::take(&mut self.memory.since);
        if let Some(vcpu) = self.decision.run
            && self.cpu.slots()[vcpu].account().is_some()
        {
            observer.event(now, self.index, Event::Account { vcpu, accesses: since });
            self.cpu.account(vcpu, since);
        }
        let (vcpus, pcpu) = (&self.vcpus[..], self.index);
        let mut grants = PcpuGrants { pools, vcpus, pcpu, observer };
        self.decision = self.cpu.step(event, Instant(now), &mut grants);
        self.show_news(now, observer);
    }

    /// Shows which VCPU runs, if it is another one than before.
    #[inline]
    pub(super) fn show_decision<O: Observer, const MEMORY: bool>(
        &mut self,
        before: Option<usize>,
        now: u64,
        pools: &mut Pools,
        observer: &mut O,
    ) {
        let at = self.index;
        if self.decision.run != before {
            match self.decision.run {
                None => observer.event(now, at, Event::Idle),
                Some(vcpu) => {
                    self.vcpus[vcpu].statistics.dispatches += 1;
                    let since = Instant(now.max(self.busy_until));
                    let budget = self.cpu.slots()[vcpu].budget(since).0;
                    let budget_ns = (budget < NEVER).then_some(budget);
                    observer.event(now, at, Event::Run { vcpu, budget_ns });
                    if MEMORY && self.vcpus[vcpu].critical {
                        pools.flush(now, false);
                    }
                }
            }
        }
    }

    #[inline]
    pub(super) fn show_news<O: Observer>(&mut self, now: u64, observer: &mut O) {
        // Nobody's sections are ended here: how long they may be is not limited.
        if self.cpu.has_news()
            && let Some(News::StoppedInGcs(vcpu)) = self.cpu.take_news()
        {
            observer.event(now, self.index, Event::StopInGcs { vcpu });
        }
    }

    /// VCPUs in global critical sections go before all others.
    pub fn raise_in_gcs(&mut self) {
        self.cpu = self.cpu.clone().with_ceilings();
    }

    /// Tells the scheduler that a VCPU has entered or left global critical sections.
    pub(super) fn tell_gcs<O: Observer, const MEMORY: bool>(
        &mut self,
        vcpu: usize,
        inside: bool,
        now: u64,
        pools: &mut Pools,
        observer: &mut O,
    ) {
        if self.cpu.slots()[vcpu].is_in_gcs() == inside {
            return;
        }
        let since = std::mem::take(&mut self.memory.since);
        if MEMORY
            && let Some(run) = self.decision.run
            && self.cpu.slots()[run].account().is_some()
        {
            observer.event(now, self.index, Event::Account { vcpu: run, accesses: since });
            self.cpu.account(run, since);
        }
        let event = if inside { Event::StartGcs { vcpu } } else { Event::FinishGcs { vcpu } };
        observer.event(now, self.index, event);
        let (vcpus, pcpu) = (&self.vcpus[..], self.index);
        let mut grants = PcpuGrants { pools, vcpus, pcpu, observer };
        let event = if inside { cpu::Event::EnterGcs(vcpu) } else { cpu::Event::LeaveGcs(vcpu) };
        self.decision = self.cpu.step(event, Instant(now), &mut grants);
        self.show_news(now, observer);
    }
}
