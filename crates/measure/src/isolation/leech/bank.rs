//! Takes rows of DRAM banks.

use std::hint::black_box;

use super::Take;

/// Bytes from one read to the next: a multiple of what the rows of all banks have
/// together on common memories, as far as frames follow each other.
const STEP: usize = 256 << 10;
/// Bytes of a line.
const LINE_BYTES: usize = 64;
/// Reads of a part.
const READS: usize = 1 << 14;

/// Reads a buffer with steps; each round of steps begins a line later.
pub struct Bank {
    bytes: Vec<u8>,
    line: usize,
}

impl Bank {
    /// Returns a buffer of this number of bytes, at least two steps.
    pub fn new(bytes: u64) -> Self {
        Self { bytes: vec![1; (bytes as usize).max(2 * STEP)], line: 0 }
    }
}

impl Take for Bank {
    fn take(&mut self) -> Result<bool, String> {
        let steps = self.bytes.len() / STEP;
        let (bytes, mut sum) = (black_box(&self.bytes), 0_u8);
        for _ in 0..READS.div_ceil(steps) {
            for step in 0..steps {
                sum = sum.wrapping_add(bytes[step * STEP + self.line * LINE_BYTES]);
            }
            self.line = (self.line + 1) % (STEP / LINE_BYTES);
        }
        black_box(sum);
        Ok(true)
    }
}
