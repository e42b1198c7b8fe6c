//! Locks across VCPUs and VMs.

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

/// A resource whose mutex the hypervisor keeps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resource {
    /// Name, by which guests open it: as that of a VM.
    pub name: String,
    /// Indices of the VMs that may open it, in ascending order; at least one.
    pub vms: Vec<u32>,
}
