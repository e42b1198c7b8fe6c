//! The jobs that guests marked, with the measurements of cachescope for each.

use serde::Deserialize;

/// The used columns of a row of `jobs.csv`.
#[derive(Clone, Debug, Deserialize)]
pub struct Job {
    /// The VM.
    pub vm: String,
    /// Number of the task in its marks.
    pub task: u64,
    /// Start, in time of the model.
    pub start_ns: u64,
    /// End, in time of the model.
    pub finish_ns: u64,
    /// Time of the CPU from start to finish.
    pub execution_ns: u64,
    /// The part of it in the address spaces of other tasks with marks.
    pub others_ns: u64,
    /// Instructions from start to finish.
    pub instructions: u64,
    /// Misses of the job in the last-level cache.
    pub llc_misses: u64,
}
