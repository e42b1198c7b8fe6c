//! The VCPUs of a PCPU ask for accesses of memory budgets that they share.

use policy::bandwidth::{Grant, Grants};
use policy::time::Instant;

use super::Pools;
use crate::vcpu::VcpuState;
use crate::{Event, Observer};

pub struct PcpuGrants<'a, O> {
    pub pools: &'a mut Pools,
    pub vcpus: &'a [VcpuState],
    pub pcpu: usize,
    pub observer: &'a mut O,
}

impl<O: Observer> Grants for PcpuGrants<'_, O> {
    fn take(&mut self, vcpu: usize, debt: u64, now: Instant) -> Grant {
        let pool = self.vcpus[vcpu].pool.expect("only VCPUs with a pool ask");
        let grant = self.pools.get(pool).take(debt, now);
        let Grant { accesses, until: Instant(until_ns) } = grant;
        self.observer.event(now.0, self.pcpu, Event::Grant { vcpu, accesses, until_ns });
        grant
    }

    fn give_back(&mut self, vcpu: usize, rest: Grant) {
        let pool = self.vcpus[vcpu].pool.expect("only VCPUs with a pool have grants");
        self.pools.get(pool).give_back(rest);
    }
}
