//! Takes entries of translations.

use std::hint::black_box;

use super::Take;
use crate::machine::page_bytes;

/// Bytes of a line.
const LINE_BYTES: usize = 64;

/// Reads one line of each page of a buffer. The lines of pages that follow each other
/// lie in other sets of the caches.
pub struct Tlb {
    bytes: Vec<u8>,
    page_bytes: usize,
}

impl Tlb {
    /// Returns a buffer of this number of bytes, at least a page.
    pub fn new(bytes: u64) -> Self {
        let page_bytes = page_bytes();
        Self { bytes: vec![1; (bytes as usize).max(page_bytes)], page_bytes }
    }
}

impl Take for Tlb {
    fn take(&mut self) -> Result<bool, String> {
        let lines = self.page_bytes / LINE_BYTES;
        let sum = black_box(&self.bytes)
            .chunks_exact(self.page_bytes)
            .enumerate()
            .fold(0, |sum: u8, (index, page)| sum.wrapping_add(page[index % lines * LINE_BYTES]));
        black_box(sum);
        Ok(true)
    }
}
