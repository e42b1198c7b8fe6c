//! Pages of memory that can be read line by line.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::Missing;
use crate::colors::Memory;
use crate::machine::{frames, page_bytes};

/// Words of the memory: an index of a word fits into one.
type Word = u32;
const WORD_BYTES: usize = size_of::<Word>();

/// Pages of memory, all of them touched.
pub struct Buffer {
    words: Vec<Word>,
    /// Index of the first word of page 0.
    start: usize,
    pages: usize,
    words_per_page: usize,
    words_per_line: usize,
    /// The lines of a page in the order in which they are read: no prefetcher guesses it.
    order: Vec<usize>,
}

impl Buffer {
    /// Creates this number of pages, in lines of this number of bytes.
    pub fn new(pages: usize, line_bytes: usize, random: &mut fastrand::Rng) -> Self {
        let words_per_page = page_bytes() / WORD_BYTES;
        let mut words = vec![0; (pages + 1) * words_per_page];
        let misaligned = words.as_ptr().addr() % page_bytes() / WORD_BYTES;
        let start = (words_per_page - misaligned) % words_per_page;
        // Memory has no frames before it is written.
        for word in words[start..].iter_mut().step_by(words_per_page) {
            *word = 1;
        }
        let words_per_line = line_bytes / WORD_BYTES;
        let mut order: Vec<usize> = (0..words_per_page / words_per_line).collect();
        random.shuffle(&mut order);
        Self { words, start, pages, words_per_page, words_per_line, order }
    }

    /// Returns the number of the frame behind each page.
    pub fn frames(&self) -> Result<Vec<u64>, Missing> {
        frames(self.words[self.start..].as_ptr().addr(), self.pages)
    }

    /// Index of the first word of a line of a page, by its place in the order.
    fn word(&self, page: usize, place: usize) -> usize {
        self.start + page * self.words_per_page + self.order[place] * self.words_per_line
    }
}

impl Memory for Buffer {
    /// Chains the lines of the page, all but the first in the order, so that each has
    /// the index of the next: no CPU can read them at once.
    fn prepare(&mut self, page: usize) {
        for place in 1..self.order.len() {
            let from = self.word(page, place);
            let to = self.word(page, place % self.timed_lines() + 1);
            self.words[from] = to as Word;
        }
        self.time(page);
    }

    fn read(&mut self, pages: &[usize]) {
        let mut sum: Word = 0;
        for page in pages {
            let page = &self.words[self.start + page * self.words_per_page..];
            for line in &self.order {
                sum = sum.wrapping_add(page[line * self.words_per_line]);
            }
        }
        black_box(sum);
    }

    /// Returns the time to read the chain of the page.
    fn time(&mut self, page: usize) -> Duration {
        // The first line is not in the chain: reading it fills the TLB.
        black_box(self.words[self.word(page, 0)]);
        let mut at = self.word(page, 1);
        let start = Instant::now();
        for _ in 0..self.timed_lines() {
            at = self.words[at] as usize;
        }
        black_box(at);
        start.elapsed()
    }

    fn timed_lines(&self) -> usize {
        self.order.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_visits_every_line_of_its_page_but_one() {
        let mut buffer = Buffer::new(3, 64, &mut fastrand::Rng::with_seed(1));
        buffer.prepare(1);
        let page = buffer.start + buffer.words_per_page..buffer.start + 2 * buffer.words_per_page;
        let mut seen = Vec::new();
        let mut at = buffer.word(1, 1);
        for _ in 0..buffer.timed_lines() {
            assert!(page.contains(&at) && (at - page.start).is_multiple_of(16));
            seen.push(at);
            at = buffer.words[at] as usize;
        }
        assert_eq!(at, buffer.word(1, 1), "it closes");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), page_bytes() / 64 - 1);
    }

    #[test]
    fn pages_are_pages_of_the_machine() {
        let buffer = Buffer::new(5, 64, &mut fastrand::Rng::with_seed(2));
        assert!(buffer.words[buffer.start..].as_ptr().addr().is_multiple_of(page_bytes()));
        assert!(buffer.words.len() >= buffer.start + 5 * buffer.words_per_page);
    }
}
