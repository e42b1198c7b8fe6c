//! Measures how well a victim is isolated from other programs (IsoTest).
//!
//! A *victim* runs a workload repeatedly, alone and beside *leeches*, each of which loads one
//! resource. The isolation coefficient is `I = P / C - 1` (Eq. 1), where P is the median time of
//! runs beside leeches, and C that of runs without. Victims and leeches are processes of their own,
//! pinned to CPUs, with real-time priorities if this is allowed.
//!
//! These measures keep the coefficient honest:
//!
//! - Runs beside leeches and runs of the baseline alternate, and so does their order in each pair
//!   (AB, BA).
//! - While the baseline is measured, leeches keep their CPUs busy without loading a resource.
//! - The first row of each test compares the baseline with itself (A/A).
//! - Runs that other programs interrupted are marked and repeated.
//! - The interval of I is shown, and the places of the CPUs.

mod campaign;
mod coefficient;
mod counters;
mod estimate;
mod interruptions;
pub mod leech;
mod machine;
mod measurement;
mod placement;
mod process;
mod protection;
mod result;
mod room;
mod size;
mod sweep;
pub mod words;
pub mod worker;
pub mod workload;

use std::time::Duration;

pub use campaign::{Effort, Limits, Point, Test, standard, test};
pub use coefficient::{Coefficient, Times, Verdict};
pub use counters::Counts;
pub use estimate::estimate;
pub use machine::Machine;
pub use measurement::{Context, Launch, Options, Progress, measure};
pub use placement::allowed as allowed_cpus;
pub use protection::Protection;
pub use result::{ContextResult, Report, Row, Sample, TestResult};
pub use size::Size;
pub use sweep::{leeches, workloads};

/// Bytes of memory that programs can have here.
///
/// # Errors
///
/// The kernel does not tell.
pub fn available_memory() -> Result<u64, crate::Missing> {
    crate::machine::available_bytes()
}

/// Bytes of the last cache of a CPU; 1 MiB where the kernel does not describe it.
pub fn llc_bytes(cpu: usize) -> u64 {
    let caches = crate::cache::of_cpu(cpu).unwrap_or_default();
    caches.last().map_or(1 << 20, |cache| cache.size_bytes)
}

/// The reason why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A process cannot do its work.
    #[error("{name}: {why}")]
    Process {
        /// Name of the process.
        name: String,
        /// The reason.
        why: String,
    },
    /// A run took too long.
    #[error("{name}: no answer within {} s", limit.as_secs_f64())]
    Timeout {
        /// Name of the process.
        name: String,
        /// The limit.
        limit: Duration,
    },
    /// The caller ended it.
    #[error("the measurement was ended before it was complete")]
    Ended,
}
