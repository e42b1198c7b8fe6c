//! The memory bus, which PCPUs share.

use crate::Duration;

/// The delays that accesses of PCPUs cause each other, and the exactness of budgets.
///
/// The analysis assumes that at most one access of each other PCPU delays an access (round robin),
/// and that no access delays another PCPU for longer than the latency.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Bus {
    /// The longest time for which one access of another PCPU delays an access: `L` (XenThrottle,
    /// section 3.1).
    pub latency: Duration,
    /// Maximum number of accesses of a VCPU beyond its budget before it is stopped; the next
    /// budgets pay for them (`policy::bandwidth`), so that this counts once in a window.
    pub overshoot: u64,
    /// The longest time after the end of a period in which accesses that count for the period can
    /// delay others: until the end is noticed, and until accesses that are on their way have been
    /// served. A task that is preempted while one of its accesses waits has one more access on its
    /// way.
    pub lateness: Duration,
    /// Maximum number of accesses of a PCPU that are on their way at once.
    pub in_flight: u64,
}

impl Bus {
    /// Makes a bus on which budgets hold exactly, as XenThrottle assumes.
    pub fn ideal(latency: Duration) -> Self {
        Self { latency, overshoot: 0, lateness: Duration(0), in_flight: 0 }
    }
}
