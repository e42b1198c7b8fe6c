//! The number of lines that the hypervisor can move before it looks for interrupts again.
//!
//! A *path* is what a CPU executes at the hypervisor's exception level from where an interrupt can
//! be taken or is asked for to the next such place: the return to a guest, a wait (WFI), or a
//! read of ISR_EL1. A budget of memory traffic that ends on a path is noticed at its end.

use rustc_hash::FxHashSet;
use serde::Serialize;

/// The counts of one path, or the largest ones of several.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct PathCounts {
    /// Lines that it can move, whatever is in the caches: see [`PathCounts::new`].
    pub bound_lines: u64,
    /// Lines that were moved on behalf of the CPU.
    pub moved_lines: u64,
    /// Lines that it loads from or stores to.
    pub data_lines: u64,
    /// Lines of instructions.
    pub fetched_lines: u64,
    /// Loads and stores that no cache serves.
    pub uncached_accesses: u64,
    /// Operations by which a line is written back or removed.
    pub maintained_lines: u64,
}

impl PathCounts {
    /// A line of data comes in, for which one that was changed leaves the last-level cache, and another
    /// one the private cache, which can make a third one leave the last-level cache. A line of
    /// instructions makes none leave a private cache that was changed. A path is shorter than private caches
    /// are large: what it has fetched it finds there.
    const fn bound(self) -> u64 {
        3 * self.data_lines
            + 2 * self.fetched_lines
            + self.uncached_accesses
            + self.maintained_lines
    }

    /// The larger one of each count.
    fn max(self, other: Self) -> Self {
        Self {
            bound_lines: self.bound_lines.max(other.bound_lines),
            moved_lines: self.moved_lines.max(other.moved_lines),
            data_lines: self.data_lines.max(other.data_lines),
            fetched_lines: self.fetched_lines.max(other.fetched_lines),
            uncached_accesses: self.uncached_accesses.max(other.uncached_accesses),
            maintained_lines: self.maintained_lines.max(other.maintained_lines),
        }
    }
}

/// The limit to which the hypervisor's counter of memory traffic is set.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Limit {
    /// True if there is one.
    pub exists: bool,
    /// True if the count has gone over it.
    pub exceeded: bool,
}

/// The largest counts of paths.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Longest {
    /// Of those that are none of the others; without a counter, of all.
    pub serving: PathCounts,
    /// Of those that begin within the limit of the counter and end without one: the VCPU that ran has nothing to do any more.
    pub stopping: PathCounts,
    /// Of those that begin behind the limit and end without one: nothing may run.
    pub to_idle: PathCounts,
    /// Of those that begin without a limit and end with one.
    pub from_idle: PathCounts,
    /// Of those that begin and end without a limit, once there was one: they serve VCPUs that do not run.
    pub waiting: PathCounts,
}

/// The path that a CPU is on, and the largest counts of those before.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// The lines that the CPU had moved at its start, and its limit.
    from: Option<(u64, Limit)>,
    data: FxHashSet<u64>,
    fetched: FxHashSet<u64>,
    uncached: u64,
    maintained: u64,
    /// True if there was a limit.
    limited: bool,
    longest: Longest,
}

impl Path {
    /// The CPU executes at the hypervisor's level and has moved `moved` lines.
    #[inline]
    pub fn enter(&mut self, moved: u64, limit: Limit) {
        self.from.get_or_insert((moved, limit));
    }

    /// It loads from or stores to a line.
    pub fn access(&mut self, line: u64, uncached: bool) {
        if uncached {
            self.uncached += 1;
        } else {
            self.data.insert(line);
        }
    }

    /// It fetches instructions of a line.
    pub fn fetch(&mut self, line: u64, uncached: bool) {
        if uncached {
            self.uncached += 1;
        } else {
            self.fetched.insert(line);
        }
    }

    /// It writes a line back, or removes it.
    pub fn maintain(&mut self) {
        self.maintained += 1;
    }

    /// An interrupt can be taken, or is asked for. The CPU has moved `moved` lines.
    #[inline]
    pub fn end(&mut self, moved: u64, limit: Limit) {
        if let Some((from, before)) = self.from.take() {
            self.count(moved - from, before, limit);
        }
    }

    fn count(&mut self, moved_lines: u64, before: Limit, after: Limit) {
        let mut counts = PathCounts {
            bound_lines: 0,
            moved_lines,
            data_lines: self.data.len() as u64,
            fetched_lines: self.fetched.len() as u64,
            uncached_accesses: self.uncached,
            maintained_lines: self.maintained,
        };
        counts.bound_lines = counts.bound();
        let Longest { serving, stopping, to_idle, from_idle, waiting } = &mut self.longest;
        let kind = match (before.exists, after.exists) {
            (true, false) if before.exceeded => to_idle,
            (true, false) => stopping,
            (false, true) => from_idle,
            (false, false) if self.limited => waiting,
            _ => serving,
        };
        *kind = kind.max(counts);
        self.limited |= before.exists || after.exists;
        self.data.clear();
        self.fetched.clear();
        (self.uncached, self.maintained) = (0, 0);
    }

    /// The largest counts of all paths.
    pub fn longest(&self) -> Longest {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Limit = Limit { exists: false, exceeded: false };
    const SOME: Limit = Limit { exists: true, exceeded: false };
    const OVER: Limit = Limit { exists: true, exceeded: true };

    #[test]
    fn lines_count_once_in_a_path_and_again_in_the_next() {
        let mut path = Path::default();
        path.enter(10, SOME);
        for line in [1, 2, 1] {
            path.access(line, false);
        }
        path.fetch(1, false);
        path.access(7, true);
        path.access(7, true);
        path.maintain();
        path.end(14, SOME);
        let longest = path.longest();
        let expected = PathCounts {
            bound_lines: 3 * 2 + 2 + 2 + 1,
            moved_lines: 4,
            data_lines: 2,
            fetched_lines: 1,
            uncached_accesses: 2,
            maintained_lines: 1,
        };
        assert_eq!(longest, Longest { serving: expected, ..Longest::default() });
        // What is shorter changes nothing, and what is no path does not either.
        path.enter(20, SOME);
        path.access(1, false);
        path.end(20, SOME);
        path.end(99, NONE);
        assert_eq!(path.longest(), longest);
    }

    #[test]
    fn paths_to_and_from_idleness_are_told_by_the_limit() {
        let mut path = Path::default();
        for (before, after, moved) in [
            (NONE, NONE, 8),
            (OVER, NONE, 3),
            (NONE, NONE, 9),
            (NONE, SOME, 4),
            (OVER, OVER, 5),
            (SOME, NONE, 6),
            (OVER, SOME, 7),
        ] {
            path.enter(0, before);
            path.end(moved, after);
        }
        let Longest { serving, stopping, to_idle, from_idle, waiting } = path.longest();
        let moved = [serving, stopping, to_idle, from_idle, waiting].map(|it| it.moved_lines);
        assert_eq!(moved, [8, 6, 3, 4, 9]);
    }
}
