//! Limits of memory accesses.

use serde::Serialize;
use units::Bytes;

use crate::plan::MemoryBudget;

/// A limit of memory accesses.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct MemoryBudgetReport {
    /// Accesses in each period.
    pub accesses: u64,
    /// The period.
    pub period_ns: u64,
    /// The budget as a rate, rounded down, if the size of an access is known.
    pub bytes_per_second: Option<u64>,
}

impl MemoryBudgetReport {
    /// Returns a budget, and the bytes that an access moves.
    pub fn new(budget: MemoryBudget, access: Option<Bytes>) -> Self {
        Self {
            accesses: budget.accesses,
            period_ns: budget.period.as_nanos(),
            bytes_per_second: access.map(|access| budget.rate(access).0),
        }
    }
}
