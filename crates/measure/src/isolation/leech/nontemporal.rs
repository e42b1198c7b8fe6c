//! Takes the memory bus.

use super::Take;
use crate::arch::store_past_caches;

/// Words of a part: 1 MiB.
const PART: usize = 1 << 17;

/// Stores to a buffer past the caches.
pub struct NonTemporal {
    words: Vec<u64>,
    at: usize,
}

impl NonTemporal {
    /// Returns a buffer of this number of bytes.
    pub fn new(bytes: u64) -> Self {
        let words = (bytes as usize).div_ceil(size_of::<u64>()).max(1);
        Self { words: vec![1; words], at: 0 }
    }
}

impl Take for NonTemporal {
    fn take(&mut self) -> Result<bool, String> {
        let end = (self.at + PART).min(self.words.len());
        store_past_caches(&mut self.words[self.at..end], end as u64);
        let over = end == self.words.len();
        self.at = if over { 0 } else { end };
        Ok(over)
    }
}
