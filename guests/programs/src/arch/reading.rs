//! Reading memory line by line, in loops that do nothing else.

use core::arch::asm;

use crate::permutation::make_cycle;
use rt::random::Random;

/// Memory in lines.
#[derive(Debug)]
pub struct Lines<'a> {
    words: &'a mut [u64],
    words_per_line: usize,
}

impl<'a> Lines<'a> {
    /// All whole lines of `words`; `line_bytes` is a multiple of 8.
    ///
    /// # Panics
    ///
    /// If there is not one line.
    pub fn new(words: &'a mut [u64], line_bytes: usize) -> Self {
        let words_per_line = line_bytes / size_of::<u64>();
        assert!(0 < words_per_line && words_per_line <= words.len(), "no line to read");
        Self { words, words_per_line }
    }

    /// Number of lines.
    pub fn count(&self) -> usize {
        self.words.len() / self.words_per_line
    }

    /// Reads one word of each line, in ascending order.
    pub fn read_in_order(&self) {
        // SAFETY: reads the first word of each line.
        unsafe {
            asm!(
                "2: ldr xzr, [{at}]",
                "add {at}, {at}, {stride}",
                "subs {left}, {left}, #1",
                "b.ne 2b",
                at = inout(reg) self.words.as_ptr() => _,
                stride = in(reg) self.words_per_line * size_of::<u64>(),
                left = inout(reg) self.count() => _,
                options(nostack, readonly)
            );
        }
    }

    /// Makes each line name the next one, in random order.
    pub fn chain(self, random: &mut Random) -> Chain<'a> {
        let (count, step) = (self.count(), self.words_per_line);
        let Self { words, .. } = self;
        for line in 0..count {
            words[line * step] = line as u64;
        }
        make_cycle(count, random, |a, b| words.swap(a * step, b * step));
        let base = words.as_ptr() as u64;
        for line in 0..count {
            words[line * step] = base + words[line * step] * (step * size_of::<u64>()) as u64;
        }
        Chain { words, count }
    }
}

/// Lines, each of which names the next one: a load cannot begin before the one before is complete.
#[derive(Debug)]
pub struct Chain<'a> {
    // Private: the first word of each of the `count` lines is the address of another one, and all of
    // them form one cycle.
    words: &'a [u64],
    count: usize,
}

impl Chain<'_> {
    /// Number of lines.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Reads each line once, in the order of the chain.
    pub fn follow(&self) {
        // SAFETY: each load gives the address of another line.
        unsafe {
            asm!(
                "2: ldr {at}, [{at}]",
                "subs {left}, {left}, #1",
                "b.ne 2b",
                at = inout(reg) self.words.as_ptr() => _,
                left = inout(reg) self.count => _,
                options(nostack, readonly)
            );
        }
    }
}
