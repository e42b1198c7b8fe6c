//! The system: machine, VMs and VCPUs, as planned, and the verdict of the analysis on it.

/// The machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Platform {
    /// Its name, such as `qemu-virt`.
    pub name: String,
    /// Number of its PCPUs.
    pub pcpus: usize,
    /// Size of the last-level cache in bytes.
    pub llc_bytes: Option<u64>,
    /// Number of its ways.
    pub llc_ways: Option<u32>,
    /// Number of its page colours, if it has any.
    pub colors: Option<usize>,
    /// Colours of the hypervisor with the plan.
    pub hypervisor_colors: Vec<usize>,
}

/// A VM, as planned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vm {
    /// Name of the VM.
    pub name: String,
    /// The guest in a few words: `Linux`, `real-time guest`.
    pub guest: String,
    /// True if the VM is critical.
    pub critical: bool,
    /// Size of its memory in bytes.
    pub memory_bytes: u64,
    /// Its colours with the plan; empty if it has all.
    pub colors: Vec<usize>,
    /// Memory accesses that all its VCPUs together may make in each period, if that is limited.
    pub memory_budget_accesses: Option<u64>,
    /// That period in nanoseconds.
    pub memory_period_ns: Option<u64>,
    /// Its VCPUs, in the order of their indices.
    pub vcpus: Vec<Vcpu>,
}

/// A VCPU, as planned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vcpu {
    /// Index of its PCPU.
    pub pcpu: usize,
    /// `periodic`, `deferrable`, `sporadic` or `background`; none if the PCPU is its own.
    pub server: Option<String>,
    /// Its priority among the VCPUs of its PCPU.
    pub priority: Option<u32>,
    /// Budget of its server in nanoseconds.
    pub budget_ns: Option<u64>,
    /// Period of its server in nanoseconds.
    pub period_ns: Option<u64>,
    /// Memory accesses that it may make in each period, if it has a limit of its own.
    pub memory_budget_accesses: Option<u64>,
    /// That period in nanoseconds.
    pub memory_period_ns: Option<u64>,
}

/// The verdict of the analysis on the whole system. Bounds are in the tasks
/// ([`super::task::Task`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// True if the analysis guarantees every deadline; `None` if it was not done.
    pub schedulable: Option<bool>,
    /// Further results, a sentence each: reasons and assumptions.
    pub notes: Vec<String>,
}

/// A decision of the planner, and why it is as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The decision in words.
    pub name: String,
    /// The decided value.
    pub value: String,
    /// The other values that were tried, and their effects.
    pub trials: Vec<String>,
}
