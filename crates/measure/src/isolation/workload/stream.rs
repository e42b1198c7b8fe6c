//! Reads and writes in the order of addresses.

use std::hint::black_box;

use super::Work;

/// Fewest bytes of a run.
const BYTES_MIN: usize = 16 << 20;

/// A buffer that is read or written as a whole.
pub struct Stream {
    words: Vec<u64>,
    passes: usize,
    writes: bool,
}

impl Stream {
    /// Returns a workload that reads this number of bytes.
    pub fn reading(bytes: u64) -> Self {
        Self::new(bytes, false)
    }

    /// Returns a workload that writes this number of bytes.
    pub fn writing(bytes: u64) -> Self {
        Self::new(bytes, true)
    }

    fn new(bytes: u64, writes: bool) -> Self {
        let words = (bytes as usize).div_ceil(size_of::<u64>()).max(1);
        // Memory has no frames before it is written.
        Self { words: vec![1; words], passes: BYTES_MIN.div_ceil(words * size_of::<u64>()), writes }
    }
}

impl Work for Stream {
    fn run(&mut self) -> Result<(), String> {
        for pass in 0..self.passes as u64 {
            if self.writes {
                self.words.fill(black_box(pass));
                black_box(&self.words);
            } else {
                black_box(
                    black_box(&self.words).iter().fold(0, |sum: u64, it| sum.wrapping_add(*it)),
                );
            }
        }
        Ok(())
    }
}
