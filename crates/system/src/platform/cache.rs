//! Caches of a machine.

use policy::color::{self, IndexBits};

/// Contents of a cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CacheKind {
    /// Instructions.
    Instruction,
    /// Data.
    Data,
    /// Instructions and data.
    Unified,
}

impl CacheKind {
    /// All, with their names in platform files.
    pub const ALL: [(&'static str, Self); 3] =
        [("instruction", Self::Instruction), ("data", Self::Data), ("unified", Self::Unified)];
}

/// A cache and its place in the machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cache {
    /// Level, from 1.
    pub level: u64,
    /// Its contents.
    pub kind: CacheKind,
    /// Size, ways, lines and slices.
    pub shape: color::Cache,
    /// Number of CPUs that share it.
    pub shared_by: u64,
    /// The bits of its set index that make colours.
    pub color_bits: IndexBits,
    /// True if the cache registers of the CPUs describe it.
    pub in_registers: bool,
}

impl Cache {
    /// Returns true if it is a first-level cache of data.
    pub fn is_first_data(&self) -> bool {
        self.level == 1 && self.kind != CacheKind::Instruction
    }
}
