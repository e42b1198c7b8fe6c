//! Reads a guest's translation tables, even while pages move.

use super::super::Vm;
use crate::arch::memory::Frame;
use crate::arch::page_table::PAGE_BYTES;
use crate::stage1::Tables;

/// SCTLR_EL1: caches are on, for table walks too.
const SCTLR_C: u64 = 1 << 2;
/// SCTLR_EL1: translation tables are big-endian.
const SCTLR_EE: u64 = 1 << 25;
/// TCR_EL1.IRGN0: walks go past the caches if it is 0.
const TCR_IRGN0: u64 = 3 << 8;

/// The way in which the guest's table walks read memory.
#[derive(Clone, Copy, Debug)]
pub struct TableFormat {
    uncached: bool,
    big_endian: bool,
}

impl TableFormat {
    /// Makes the format that TCR_EL1 and SCTLR_EL1 select.
    pub fn new(tcr: u64, sctlr: u64) -> Self {
        let uncached = tcr & TCR_IRGN0 == 0 || sctlr & SCTLR_C == 0;
        Self { uncached, big_endian: sctlr & SCTLR_EE != 0 }
    }
}

/// Reads a guest's tables through the current entries; for one chunk, in which no page moves while
/// the tables are read.
pub struct TableReader<'a> {
    vm: &'a Vm,
    format: TableFormat,
    /// The page that was read last, and its frame if it is one of RAM.
    page: u64,
    frame: Option<Frame>,
    outside: bool,
}

/// No page has been read.
const NO_PAGE: u64 = u64::MAX;

impl<'a> TableReader<'a> {
    /// Makes a reader that has read nothing.
    pub fn new(vm: &'a Vm, format: TableFormat) -> Self {
        Self { vm, format, page: NO_PAGE, frame: None, outside: false }
    }

    /// Returns true if an address that was to be read does not lie in RAM.
    pub fn was_outside(&self) -> bool {
        self.outside
    }
}

impl Tables for TableReader<'_> {
    #[inline(always)]
    fn word(&mut self, ipa: u64) -> Option<u64> {
        let page = ipa & !(PAGE_BYTES - 1);
        if page != self.page {
            (self.page, self.frame) = (page, self.vm.frame(page));
        }
        let Some(frame) = self.frame else {
            self.outside = true;
            return None;
        };
        let word = frame.word(ipa, self.format.uncached);
        Some(if self.format.big_endian { word.swap_bytes() } else { word })
    }
}
