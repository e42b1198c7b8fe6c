//! A cache that is known, for tests.

use std::time::Duration;

use super::memory::Memory;
use crate::cache::CpuCache;

const LINE_BYTES: u64 = 64;
const LINES_OF_PAGE: u64 = 4096 / LINE_BYTES;

/// A cache of physical addresses with LRU replacement, and pages in frames.
pub struct Model {
    ways: usize,
    sets: u64,
    slices: u64,
    /// The frames where the cache sees them.
    frames: Vec<u64>,
    is_scattered: bool,
    /// Lines in each set of each slice, the last one used at the end.
    lines: Vec<Vec<u64>>,
}

impl Model {
    /// Creates a cache with this number of ways, and of sets in each of the slices.
    pub fn new(ways: usize, sets: u64, slices: u64) -> Self {
        let lines = vec![Vec::new(); (sets * slices) as usize];
        Self { ways, sets, slices, frames: Vec::new(), is_scattered: false, lines }
    }

    /// As in a virtual machine: the cache sees other frames than the kernel.
    pub fn scattered(self) -> Self {
        Self { is_scattered: true, ..self }
    }

    /// Returns the frame behind each page, as the kernel sees it.
    pub fn with_frames(self, mut frames: Vec<u64>) -> Self {
        if self.is_scattered {
            fastrand::Rng::with_seed(11).shuffle(&mut frames);
        }
        Self { frames, ..self }
    }

    /// Reads a line of a page. Returns true if the line was in the cache.
    fn access(&mut self, page: usize, line: u64) -> bool {
        let line = self.frames[page] * LINES_OF_PAGE + line;
        // Slices are chosen by a hash of all bits, sets by the low ones.
        let slice = u64::from(line.count_ones()) % self.slices;
        let set = &mut self.lines[(slice * self.sets + line % self.sets) as usize];
        let found = set.iter().position(|other| *other == line);
        match found {
            Some(at) => _ = set.remove(at),
            None if set.len() == self.ways => _ = set.remove(0),
            None => {}
        }
        set.push(line);
        found.is_some()
    }
}

impl Memory for Model {
    fn prepare(&mut self, page: usize) {
        self.read(&[page]);
    }

    fn read(&mut self, pages: &[usize]) {
        for &page in pages {
            for line in 0..LINES_OF_PAGE {
                self.access(page, line);
            }
        }
    }

    fn time(&mut self, page: usize) -> Duration {
        let cost = |hit| if hit { 10 } else { 100 };
        Duration::from_nanos((0..LINES_OF_PAGE).map(|line| cost(self.access(page, line))).sum())
    }

    fn timed_lines(&self) -> usize {
        LINES_OF_PAGE as usize
    }
}

/// Returns the kernel's description of the cache.
pub fn cache(model: &Model) -> CpuCache {
    let sets = model.sets * model.slices;
    CpuCache {
        level: 2,
        size_bytes: sets * model.ways as u64 * LINE_BYTES,
        ways: model.ways as u32,
        line_bytes: LINE_BYTES as u32,
        sets,
        shared_by: 4,
    }
}
