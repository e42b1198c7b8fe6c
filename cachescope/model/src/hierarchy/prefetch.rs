//! Prefetches: lines that a CPU will want if it goes on as it does.

use super::{Cost, Hierarchy, Request};
use crate::bus::Transfer;

/// Misses at a fixed stride that make a stream, and the lines of the longest stride: those of the Cortex-A7
/// (Cortex-A7 MPCore Technical Reference Manual, section 6.5.2).
const MISSES: u32 = 3;
const FARTHEST: u64 = 4;
/// Addresses beyond a page may be anywhere.
const PAGE: u64 = 4096;

/// The state of a CPU's prefetcher.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefetcher {
    /// The line that its private cache missed last.
    last: u64,
    /// The distance from the line before to it, in lines.
    stride: i64,
    /// Misses in a row with that stride.
    misses: u32,
    /// Lines on their way, with the time when they are there.
    coming: Vec<(u64, u64)>,
}

impl Prefetcher {
    /// The private cache misses a line. Returns the stride of the stream, if it is one.
    fn miss(&mut self, line: u64) -> Option<i64> {
        let stride = line.wrapping_sub(self.last).cast_signed();
        self.misses = if stride == self.stride { self.misses.saturating_add(1) } else { 2 };
        (self.last, self.stride) = (line, stride);
        let near = (1..=FARTHEST).contains(&stride.unsigned_abs());
        (near && self.misses >= MISSES).then_some(stride)
    }

    /// The time until a line that was prefetched is there; forgets those that are.
    fn wait(&mut self, line: u64, now: u64) -> u64 {
        let coming = self.coming.iter().find(|(it, _)| *it == line);
        let wait = coming.map_or(0, |&(_, there)| there.saturating_sub(now));
        self.coming.retain(|&(it, there)| it != line && there > now);
        wait
    }
}

impl Hierarchy {
    /// After an access that the private cache could not serve: it may have to wait for a line that was
    /// prefetched, and if it is part of a stream, the next lines are on their way.
    pub(super) fn follow(&mut self, request: Request, cost: Cost) -> Cost {
        let Request { cpu, line, now, .. } = request;
        let prefetcher = &mut self.prefetchers[cpu];
        let wait = prefetcher.wait(line, now);
        if let Some(stride) = prefetcher.miss(line) {
            self.prefetch(request, stride);
        }
        match cost.llc_miss {
            true => cost,
            false => Cost { stall: cost.stall.max(wait), ..cost },
        }
    }

    /// Prefetches the lines of a stream after that of a request, as many as may be on their way, into
    /// the last-level cache.
    fn prefetch(&mut self, request: Request, stride: i64) {
        let Request { cpu, who, line, now, .. } = request;
        let page = |line: u64| (line << self.line_shift) / PAGE;
        let next = |step: usize| line.checked_add_signed(stride * step as i64);
        let lines: Vec<u64> = (1..=self.prefetch)
            .map_while(next)
            .take_while(|&next| page(next) == page(line))
            .collect();
        for next in lines {
            if self.prefetchers[cpu].coming.len() >= self.prefetch {
                return;
            }
            if self.is_uncached(next) || self.silent.contains(&next) {
                return;
            }
            self.snoop(cpu, next, false, now);
            if self.last(cpu).contains(next)
                || self.private(cpu).is_some_and(|cache| cache.contains(next))
            {
                continue;
            }
            self.tally.read(who);
            let wait = self.bus.transfer(Transfer { now, cpu: cpu as u8, waits: false });
            self.fill(cpu, who, next, false, now);
            self.prefetchers[cpu].coming.push((next, now + wait + self.memory));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_misses_at_a_fixed_stride_are_a_stream() {
        let mut prefetcher = Prefetcher::default();
        let seen = [70, 71, 72, 73, 75, 77, 79, 84, 89, 94, 93, 92, 92, 92]
            .map(|line| prefetcher.miss(line));
        let expected = [0, 0, 1, 1, 0, 2, 2, 0, 0, 0, 0, -1, 0, 0];
        assert_eq!(seen, expected.map(|stride| Some(stride).filter(|&it| it != 0)));
    }
}
