//! The counter of memory accesses of a machine, and the time of an access.

use units::{Bytes, Duration};

use crate::address::IntId;
use crate::plan::CounterSource;

/// The counter of memory accesses of each PCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Bandwidth {
    /// The counted event, and the device that counts it.
    pub source: CounterSource,
    /// Width of the counter: 32 or 64.
    pub bits: u32,
    /// The interrupt when it overflows: one private interrupt, or a shared one for each PCPU.
    pub interrupts: Vec<IntId>,
    /// Bytes that one access moves; none where no accesses to memory are counted.
    pub access: Option<Bytes>,
    /// Longest time that one access of another PCPU can delay one access, if it is known
    /// (XenThrottle, section 3.1: `L`).
    pub latency: Option<Duration>,
}
