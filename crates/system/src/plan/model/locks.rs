//! Locks across VCPUs and VMs.

use abi::limits;
use abi::plan::words;
use units::Duration;

/// Protocols of the hypervisor for VCPUs in global critical sections.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Locks {
    /// A VCPU in a global critical section goes before all that are in none (vMPCP, section III).
    #[default]
    Vmpcp,
    /// VCPUs keep their priorities, and only the tasks in sections are raised (MPCP).
    Mpcp,
}

impl Locks {
    /// Both protocols.
    pub const ALL: [Self; 2] = [Self::Vmpcp, Self::Mpcp];

    /// Returns the word in description and plan.
    pub fn as_str(self) -> &'static str {
        let [vmpcp, mpcp] = words::LOCKS;
        match self {
            Self::Vmpcp => vmpcp,
            Self::Mpcp => mpcp,
        }
    }
}

/// The limit on entries of a VCPU into global critical sections: in any time `t` at most `1 +
/// floor((t + early) / interval)`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Entries {
    /// Time between two entries.
    pub interval: Duration,
    /// Time by which entries may come earlier than one in each interval.
    pub early: Duration,
}

impl Entries {
    /// Shortest and longest interval.
    pub const INTERVALS: [Duration; 2] =
        [Duration(limits::SECTIONS_INTERVAL_MIN_NS), Duration(limits::SECTIONS_INTERVAL_MAX_NS)];
    /// Most that entries may come early.
    pub const EARLIEST: Duration = Duration(limits::SECTIONS_EARLY_MAX_NS);
}

/// A resource whose mutex the hypervisor keeps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resource {
    /// Name, by which guests open it: as that of a VM.
    pub name: String,
    /// Indices of the VMs that may open it, in ascending order; at least one.
    pub vms: Vec<u32>,
}
