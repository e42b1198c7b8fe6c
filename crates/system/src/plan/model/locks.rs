//! Locks across VCPUs and VMs.

use units::Duration;

/// What the hypervisor does for VCPUs in global critical sections.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Locks {
    /// A VCPU in a global critical section goes before all that are in none (vMPCP, section III).
    #[default]
    Vmpcp,
    /// Nothing: VCPUs keep their priorities, and only the tasks in them are raised (MPCP).
    Mpcp,
}

impl Locks {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Vmpcp, Self::Mpcp];

    /// The word in description and plan.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vmpcp => "vmpcp",
            Self::Mpcp => "mpcp",
        }
    }
}

/// How often a VCPU may enter global critical sections: in any time `t` at most
/// `1 + floor((t + early) / interval)` times.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Entries {
    /// From one to the next.
    pub interval: Duration,
    /// How much earlier than that some may come, together.
    pub early: Duration,
}

impl Entries {
    /// Shortest and longest interval.
    pub const INTERVALS: [Duration; 2] = [Duration(1_000), Duration(3_600_000_000_000)];
    /// Most that entries may come early.
    pub const EARLIEST: Duration = Duration(1 << 56);
}

/// A resource whose mutex the hypervisor keeps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resource {
    /// Name, by which guests open it: as that of a VM.
    pub name: String,
    /// Indices of the VMs that may open it, in ascending order; at least one.
    pub vms: Vec<u32>,
}
