//! The memory traffic of VMs over time, as cachescope counted it.

use serde::Deserialize;

/// Bytes that an access moves: the line of all caches of QEMU's CPUs.
pub const ACCESS_BYTES: u64 = 64;

/// The traffic of a VM in a bin of cachescope: the used columns of a row of `timeseries.csv`.
#[derive(Clone, Debug, Deserialize)]
pub struct Bin {
    /// Start of the bin.
    pub time_ns: u64,
    /// The VM.
    pub owner: String,
    /// Bytes from memory.
    pub memory_read_bytes: u64,
    /// Bytes to memory.
    pub memory_written_bytes: u64,
}

impl Bin {
    /// Lines that were moved.
    pub fn accesses(&self) -> u64 {
        (self.memory_read_bytes + self.memory_written_bytes) / ACCESS_BYTES
    }
}
