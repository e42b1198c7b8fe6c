//! How accesses of PCPUs delay each other (XenThrottle, section 3.2).
//!
//! An access keeps the memory busy for the latency `L`. An access of another PCPU in that time
//! waits. It waits for at most one access of each other PCPU, and no access makes two accesses of
//! one PCPU wait.

use crate::pcpu::PcpuState;
use crate::{Contention, Event, Observer};

#[derive(Clone, Debug)]
pub struct Bus {
    contention: Contention,
    /// For each PCPU and each other one, the number of accesses of the other one after which it
    /// waited last.
    waited: Vec<Vec<u64>>,
}

impl Bus {
    pub fn new(contention: Contention, pcpus: usize) -> Self {
        Self { contention, waited: vec![vec![0; pcpus]; pcpus] }
    }

    /// Delays the accesses that a PCPU has just made by those of others.
    pub fn delay<O: Observer>(
        &mut self,
        at: usize,
        now: u64,
        pcpus: &mut [PcpuState],
        observer: &mut O,
    ) {
        let accesses = std::mem::take(&mut pcpus[at].memory.fresh);
        let mut delay = 0;
        for other in (0..pcpus.len()).filter(|&other| other != at) {
            let pcpu = &mut pcpus[other];
            pcpu.advance::<true>(now);
            let with = pcpu.access_with(accesses);
            if let Some((vcpu, accesses)) = with {
                observer.event(now, other, Event::Access { vcpu, accesses });
                delay += accesses * self.contention.latency;
                if accesses > 0 {
                    self.waited[at][other] = pcpu.memory.total;
                }
                continue;
            }
            let waited = &mut self.waited[at][other];
            let Some(last) = pcpu.memory.last else { continue };
            let rest = last.saturating_add(self.contention.latency).saturating_sub(now);
            if rest > 0 && pcpu.memory.total > *waited {
                *waited = pcpu.memory.total;
                delay +=
                    if self.contention.always_longest { self.contention.latency } else { rest };
            }
        }
        pcpus[at].wait(delay);
    }
}
