//! Memory accesses in windows of time, against a budget.

/// Accesses of a VCPU, or of all VCPUs of a VM.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Place of the VM in [`Proof::vms`](crate::proof::Proof::vms).
    pub vm: usize,
    /// Index of the VCPU in the VM; none: all of them together.
    pub vcpu: Option<usize>,
    /// Length of a window in nanoseconds: the period of the budget, where there is one.
    pub window_ns: u64,
    /// Accesses that may be made in a window with the plan; none if that is not limited.
    pub budget_accesses: Option<u64>,
    /// Accesses beyond the budget that the analysis counts with.
    pub overshoot_accesses: u64,
    /// Accesses in the windows of the run without isolation, one after the other; may be empty.
    pub without_accesses: Vec<u64>,
    /// Accesses in the windows of the run with the plan, one after the other; may be empty.
    pub with_accesses: Vec<u64>,
    /// Windows of the run with the plan in which it had to wait, as the budget was used up:
    /// places in `with_accesses`, rising.
    pub throttled_windows: Vec<usize>,
}
