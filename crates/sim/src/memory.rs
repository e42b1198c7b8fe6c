//! Memory accesses while they are simulated: budgets that VCPUs share, and how accesses delay others.

mod bus;
mod evenly;
mod grants;
mod pools;

pub use bus::{Bus, Limits, Stretch};
pub use evenly::Evenly;
pub use grants::PcpuGrants;
pub use pools::Pools;

/// Accesses of a PCPU.
#[derive(Clone, Debug, Default)]
pub struct PcpuMemory {
    /// Accesses of the running VCPU since the last input of its scheduler.
    pub since: u64,
    /// Accesses that no observer has seen.
    pub unseen: u64,
    /// Accesses that may still be delayed.
    pub fresh: u64,
    /// All accesses, those of critical VCPUs, and the time of the last one.
    pub total: u64,
    pub critical: u64,
    pub last: Option<u64>,
    /// The task that a critical VCPU ran last.
    pub task: Option<(usize, usize)>,
    /// VCPUs with memory budgets.
    pub regulated: Vec<usize>,
}

impl PcpuMemory {
    /// Adds accesses of a VCPU, the last one at this time.
    pub fn add(&mut self, accesses: u64, last: u64, is_critical: bool) {
        self.since += accesses;
        self.unseen += accesses;
        self.total += accesses;
        self.last = Some(last);
        if is_critical {
            self.critical += accesses;
        }
    }
}
