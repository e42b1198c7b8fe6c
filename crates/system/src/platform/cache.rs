//! Caches and the page colours that they have.

use std::ops::RangeInclusive;

use crate::units::Bytes;

/// Bytes of a page: colours are counted in pages of this size.
const PAGE: u64 = 4096;

/// What a cache holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CacheKind {
    /// Instructions.
    Instruction,
    /// Data.
    Data,
    /// Both.
    Unified,
}

impl CacheKind {
    /// All, with their names in platform files.
    pub const ALL: [(&'static str, Self); 3] =
        [("instruction", Self::Instruction), ("data", Self::Data), ("unified", Self::Unified)];
}

/// A set-associative cache. Sizes are powers of two times the ways.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cache {
    /// Level, from 1.
    pub level: u64,
    /// What it holds.
    pub kind: CacheKind,
    /// Bytes in all, over all slices.
    pub size: Bytes,
    /// Ways.
    pub ways: u64,
    /// Bytes of a line.
    pub line: Bytes,
    /// Slices among which addresses are spread by a hash.
    pub slices: u64,
    /// Number of CPUs that share it.
    pub shared_by: u64,
    /// Address bits that make the colour of a page, lowest to highest, where
    /// these are not all index bits above the page offset.
    pub color_bits: Option<RangeInclusive<u32>>,
}

impl Cache {
    /// Sets of one slice.
    pub fn sets(&self) -> u64 {
        self.size.0 / (self.ways * self.line.0 * self.slices)
    }

    /// Page colours: `S / (W * P * N)` for size, ways, page size and slices,
    /// or what the colour bits give. 1 means that colours cannot divide it.
    pub fn colors(&self) -> u64 {
        match &self.color_bits {
            Some(bits) => 1 << (bits.end() + 1 - bits.start()),
            None => (self.sets() * self.line.0 / PAGE).max(1),
        }
    }

    /// Address bits of the set index.
    pub fn index_bits(&self) -> RangeInclusive<u32> {
        let low = self.line.0.ilog2();
        low..=low + self.sets().ilog2().max(1) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(size: Bytes, slices: u64) -> Cache {
        Cache {
            level: 2,
            kind: CacheKind::Unified,
            size,
            ways: 16,
            line: Bytes(64),
            slices,
            shared_by: 4,
            color_bits: None,
        }
    }

    /// Kim and Rajkumar, ACM TECS 2017: worked values.
    #[test]
    fn colors_of_the_vcache_paper() {
        assert_eq!(cache(Bytes::kib(256), 1).colors(), 4);
        assert_eq!(cache(Bytes::mib(8), 4).colors(), 32);
        assert_eq!(cache(Bytes::mib(2), 1).colors(), 32);
    }

    #[test]
    fn index_bits_lie_above_the_line() {
        assert_eq!(cache(Bytes::mib(1), 1).index_bits(), 6..=15);
    }

    #[test]
    fn a_cache_of_less_than_a_page_a_way_has_one_color() {
        assert_eq!(cache(Bytes::kib(32), 1).colors(), 1);
    }
}
