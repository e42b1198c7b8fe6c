//! Reads that depend on each other.

use std::hint::black_box;

use super::Work;

/// Bytes from one element of the chain to the next in memory: a line of most machines,
/// and half of one on others.
const LINE_BYTES: usize = 64;
const WORDS_PER_LINE: usize = LINE_BYTES / size_of::<u32>();
/// Fewest reads of a run, so that small buffers take a time that can be measured.
const READS_MIN: usize = 1 << 17;
/// Order of the chain.
const SEED: u64 = 1;

/// A chain through all lines of a buffer.
pub struct Chase {
    words: Vec<u32>,
    reads: usize,
}

impl Chase {
    /// Returns a chase through this number of bytes, at least two lines.
    pub fn new(bytes: u64) -> Self {
        let lines = (bytes as usize / LINE_BYTES).max(2);
        let mut order: Vec<usize> = (0..lines).collect();
        fastrand::Rng::with_seed(SEED).shuffle(&mut order);
        let mut words = vec![0; lines * WORDS_PER_LINE];
        for (index, line) in order.iter().enumerate() {
            let next = order[(index + 1) % lines];
            words[line * WORDS_PER_LINE] = (next * WORDS_PER_LINE) as u32;
        }
        Self { words, reads: lines.max(READS_MIN) }
    }
}

impl Work for Chase {
    fn run(&mut self) -> Result<(), String> {
        let mut at = 0;
        for _ in 0..self.reads {
            at = self.words[at] as usize;
        }
        black_box(at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_visits_every_line_once() {
        let chase = Chase::new(64 * 100);
        let (mut at, mut seen) = (0, vec![false; 100]);
        for _ in 0..100 {
            assert!(!std::mem::replace(&mut seen[at / WORDS_PER_LINE], true), "twice");
            at = chase.words[at] as usize;
        }
        assert_eq!(at, 0, "it closes");
    }
}
