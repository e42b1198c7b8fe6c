//! What PCPUs share on their way to memory.

use crate::Duration;

/// How accesses of PCPUs delay each other, and how exactly budgets hold.
///
/// What the analysis assumes: an access of one PCPU is delayed by at most one access of each
/// other PCPU (round robin), and no access keeps another PCPU waiting for longer than the
/// latency.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bus {
    /// For how long one access of another PCPU delays one access at most: `L` (XenThrottle,
    /// section 3.1).
    pub latency: Duration,
    /// Accesses that one with a budget makes at most beyond it before it is stopped; what follows
    /// pays for them (`policy::bandwidth`), so that this counts once in a window.
    pub overshoot: u64,
    /// For how long after the end of a period accesses that count for it can delay others at
    /// most: until the end is noticed, and until accesses that are on their way have been served.
    /// A task that is preempted while one of its accesses waits, and waits on when it goes on, has
    /// one more on its way.
    pub lateness: Duration,
    /// Accesses of a PCPU that can be on their way at once.
    pub in_flight: u64,
}

impl Bus {
    /// With budgets that hold exactly, as XenThrottle assumes.
    pub fn ideal(latency: Duration) -> Self {
        Self { latency, overshoot: 0, lateness: Duration(0), in_flight: 0 }
    }
}
