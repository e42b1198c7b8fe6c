//! Delays that accesses of PCPUs cause each other (XenThrottle, section 3.2).
//!
//! An access keeps the memory busy for the latency `L`. An access of another PCPU in that time
//! waits. It waits for at most one access of each other PCPU, and no access makes two accesses of
//! one PCPU wait.

mod stretch;

use crate::pcpu::{Lane, PcpuState};
use crate::{Contention, Event, Observer};

pub use stretch::{Limits, Stretch};

#[derive(Clone, Debug)]
pub struct Bus {
    contention: Contention,
    /// For each PCPU and each other one, the number of accesses of the other one after which it
    /// waited last.
    waited: Vec<Vec<u64>>,
    /// The PCPUs in a stretch; empty otherwise.
    lanes: Vec<Lane>,
    /// The PCPUs that make accesses in it which others delay.
    makers: Vec<usize>,
}

impl Bus {
    pub fn new(contention: Contention, pcpus: usize) -> Self {
        let waited = vec![vec![0; pcpus]; pcpus];
        Self { contention, waited, lanes: Vec::new(), makers: Vec::new() }
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
            delay += self.wait((at, other), now, (pcpu.memory.total, pcpu.memory.last));
        }
        pcpus[at].wait(delay);
    }

    /// Returns the time that an access of a PCPU waits for another PCPU, which has made this number
    /// of accesses, the last one at that time.
    #[inline]
    fn wait(
        &mut self,
        (at, other): (usize, usize),
        now: u64,
        (total, last): (u64, Option<u64>),
    ) -> u64 {
        let waited = &mut self.waited[at][other];
        let Contention { latency, always_longest } = self.contention;
        let Some(last) = last else { return 0 };
        let rest = last.saturating_add(latency).saturating_sub(now);
        if rest == 0 || total <= *waited {
            return 0;
        }
        *waited = total;
        if always_longest { latency } else { rest }
    }
}
