//! Takes lines of the cache, or the memory bus.

use std::hint::black_box;

use super::Take;

/// Words of a part: 1 MiB.
const PART: usize = 1 << 18;

/// Copies a buffer to another one, in words of 32 bits.
pub struct Copy {
    from: Vec<u32>,
    to: Vec<u32>,
    at: usize,
}

impl Copy {
    /// Returns two buffers of this number of bytes each.
    pub fn new(bytes: u64) -> Self {
        let words = (bytes as usize).div_ceil(size_of::<u32>()).max(1);
        Self { from: vec![1; words], to: vec![2; words], at: 0 }
    }
}

impl Take for Copy {
    fn take(&mut self) -> Result<bool, String> {
        let end = (self.at + PART).min(self.from.len());
        self.to[self.at..end].copy_from_slice(&black_box(&self.from)[self.at..end]);
        black_box(&self.to);
        let over = end == self.from.len();
        self.at = if over { 0 } else { end };
        Ok(over)
    }
}
