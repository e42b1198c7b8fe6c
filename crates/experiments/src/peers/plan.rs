//! The decisions of a method.

use serde::Deserialize;

/// The decisions of a method.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    /// The VCPUs with tasks.
    pub vcpus: Vec<Vcpu>,
}

/// A VCPU of a plan.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct Vcpu {
    /// Index of its VM.
    pub vm: usize,
    /// Indices of its tasks, ascending.
    pub tasks: Vec<usize>,
    /// Its budget in nanoseconds.
    pub budget_ns: u64,
    /// Its PCPU.
    pub pcpu: usize,
}
