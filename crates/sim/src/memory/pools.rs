//! The memory budgets of VMs, and what they are told of the critical side.

use policy::bandwidth;
use policy::time::Instant;

use crate::pcpu::PcpuState;
use crate::time::NEVER;
use crate::{Error, MemoryBudget, System};

#[derive(Clone, Debug, Default)]
pub struct Pools {
    pools: Vec<Shared>,
    /// PCPUs with critical VCPUs.
    sides: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Shared {
    pool: bandwidth::Pool,
    period: u64,
    /// End of the current period, if the pool is compensated.
    end: u64,
    flush_task_switch: bool,
    /// Accesses of each critical PCPU when the period began.
    before: Vec<u64>,
}

impl Pools {
    pub fn new(system: &System) -> Result<Self, Error> {
        let is_critical = |pcpu: &usize| system.pcpus[*pcpu].vcpus.iter().any(|it| it.critical);
        let sides: Vec<_> = (0..system.pcpus.len()).filter(is_critical).collect();
        let mut pools = Vec::new();
        for (index, pool) in system.memory.pools.iter().enumerate() {
            let shares = |vcpu: &crate::Vcpu| vcpu.memory == MemoryBudget::Shared(index);
            let pcpus = system.pcpus.iter().filter(|pcpu| pcpu.vcpus.iter().any(shares)).count();
            let error = |error| Error::Memory { name: pool.name.clone(), error };
            let parameters = pool.parameters;
            let mut shared = Shared {
                pool: bandwidth::Pool::new(parameters, pcpus as u64).map_err(error)?,
                period: parameters.period.0,
                end: NEVER,
                flush_task_switch: false,
                before: vec![0; sides.len()],
            };
            if let Some(compensation) = pool.compensation {
                let pcpus = sides.len();
                if pcpus > 64 {
                    return Err(Error::TooManyPcpus { pcpus });
                }
                let mask = (0..pcpus).fold(0, |mask, side| mask | 1 << side);
                let new =
                    bandwidth::Compensation::new(compensation.periods, mask).map_err(error)?;
                shared.pool = shared.pool.with_compensation(new);
                shared.end = parameters.start.0.saturating_add(shared.period);
                shared.flush_task_switch = compensation.flush_task_switch;
            }
            pools.push(shared);
        }
        Ok(Self { pools, sides })
    }

    pub fn get(&mut self, pool: usize) -> &mut bandwidth::Pool {
        &mut self.pools[pool].pool
    }

    /// Returns the end of the next period of a compensated pool.
    pub fn next_end(&self) -> u64 {
        self.pools.iter().map(|shared| shared.end).min().unwrap_or(NEVER)
    }

    /// Ends periods: passes on the accesses that critical PCPUs have made in them. The accesses
    /// until `now` must be known.
    pub fn end(&mut self, now: u64, pcpus: &[PcpuState]) {
        for shared in self.pools.iter_mut().filter(|shared| shared.end == now) {
            for (side, (&pcpu, before)) in self.sides.iter().zip(&mut shared.before).enumerate() {
                let total = pcpus[pcpu].memory.critical;
                shared.pool.report(side as u32, total - *before, Instant(now));
                *before = total;
            }
            shared.end = now.saturating_add(shared.period);
        }
    }

    /// Notes that a critical VCPU runs, or runs another task.
    pub fn flush(&mut self, now: u64, is_task_switch: bool) {
        for shared in &mut self.pools {
            if !is_task_switch || shared.flush_task_switch {
                shared.pool.flush(Instant(now));
            }
        }
    }

    /// PCPUs with critical VCPUs.
    pub fn sides(&self) -> &[usize] {
        &self.sides
    }
}
