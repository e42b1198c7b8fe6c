//! The counts, by owner and colour.

use serde::Serialize;

use crate::Owner;

/// All counts of a run. Counts only grow.
#[derive(Clone, Debug)]
pub struct Tally {
    owners: usize,
    colors: usize,
    by_color: Box<[ByColor]>,
    by_owner: Box<[ByOwner]>,
    /// Index: ((accessor * owners + incoming) * owners + evicted) * colors + color.
    evictions: Box<[u64]>,
}

/// Counts of one accessor in one colour.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByColor {
    /// Accesses to lines: one that crosses into a second line counts twice.
    pub accesses: u64,
    /// Accesses that the private cache did not have.
    pub l1_misses: u64,
    /// Accesses and fetches that the last-level cache did not have.
    pub llc_misses: u64,
    /// Lines fetched to execute blocks of instructions.
    pub fetches: u64,
    /// Fetches that the instruction cache did not have.
    pub l1i_misses: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ByOwner {
    llc_write_backs: u64,
    read_lines: u64,
    written_lines: u64,
    caused: u64,
    suffered: u64,
}

/// Counts of one owner, or of all. Accesses, misses and what was caused belong
/// to the owner that made the access; what was written back or suffered belongs to the
/// owner of the line.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Totals {
    /// Accesses to lines.
    pub accesses: u64,
    /// Accesses that the private cache did not have; all, if there is none.
    pub l1_misses: u64,
    /// Accesses and fetches that the last-level cache did not have.
    pub llc_misses: u64,
    /// Changed lines that private caches gave back to the last-level cache.
    pub llc_write_backs: u64,
    /// Bytes that came from memory.
    pub memory_read_bytes: u64,
    /// Bytes that went to memory.
    pub memory_written_bytes: u64,
    /// Evictions from the last-level cache of lines that are not the accessor's.
    pub evictions_caused: u64,
    /// Evictions of own lines from the last-level cache by others.
    pub evictions_suffered: u64,
    /// Lines fetched to execute blocks of instructions, if that is modelled.
    pub fetches: u64,
    /// Fetches that the instruction cache did not have.
    pub l1i_misses: u64,
}

/// One kind of eviction from the last-level cache and how often it happened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Eviction {
    /// Colour of both lines.
    pub color: usize,
    /// The owner that made the access. For a line that comes from a private cache: its owner.
    pub accessor: Owner,
    /// Owner of the line that came.
    pub incoming: Owner,
    /// Owner of the line that went.
    pub evicted: Owner,
    /// Number of times that it happened.
    pub count: u64,
}

impl Totals {
    /// The counts since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            accesses: self.accesses - earlier.accesses,
            l1_misses: self.l1_misses - earlier.l1_misses,
            llc_misses: self.llc_misses - earlier.llc_misses,
            llc_write_backs: self.llc_write_backs - earlier.llc_write_backs,
            memory_read_bytes: self.memory_read_bytes - earlier.memory_read_bytes,
            memory_written_bytes: self.memory_written_bytes - earlier.memory_written_bytes,
            evictions_caused: self.evictions_caused - earlier.evictions_caused,
            evictions_suffered: self.evictions_suffered - earlier.evictions_suffered,
            fetches: self.fetches - earlier.fetches,
            l1i_misses: self.l1i_misses - earlier.l1i_misses,
        }
    }

    /// The sum with another owner's.
    pub fn plus(self, other: Self) -> Self {
        Self {
            accesses: self.accesses + other.accesses,
            l1_misses: self.l1_misses + other.l1_misses,
            llc_misses: self.llc_misses + other.llc_misses,
            llc_write_backs: self.llc_write_backs + other.llc_write_backs,
            memory_read_bytes: self.memory_read_bytes + other.memory_read_bytes,
            memory_written_bytes: self.memory_written_bytes + other.memory_written_bytes,
            evictions_caused: self.evictions_caused + other.evictions_caused,
            evictions_suffered: self.evictions_suffered + other.evictions_suffered,
            fetches: self.fetches + other.fetches,
            l1i_misses: self.l1i_misses + other.l1i_misses,
        }
    }
}

impl Tally {
    /// A tally in which nothing is counted yet.
    pub fn new(owners: usize, colors: usize) -> Self {
        Self {
            owners,
            colors,
            by_color: vec![ByColor::default(); owners * colors].into(),
            by_owner: vec![ByOwner::default(); owners].into(),
            evictions: vec![0; owners * owners * owners * colors].into(),
        }
    }

    /// Number of colours.
    pub fn colors(&self) -> usize {
        self.colors
    }

    /// Counts of an accessor in a colour.
    #[inline]
    pub fn at(&mut self, who: Owner, color: usize) -> &mut ByColor {
        &mut self.by_color[who.index() * self.colors + color]
    }

    /// A line came from memory for an accessor.
    pub fn read(&mut self, who: Owner) {
        self.by_owner[who.index()].read_lines += 1;
    }

    /// A line of an owner went to memory.
    pub fn written(&mut self, owner: Owner) {
        self.by_owner[owner.index()].written_lines += 1;
    }

    /// A changed line of an owner went from a private cache to the shared one.
    pub fn wrote_back(&mut self, owner: Owner) {
        self.by_owner[owner.index()].llc_write_backs += 1;
    }

    /// A line had to go.
    pub fn evicted(&mut self, color: usize, accessor: Owner, incoming: Owner, evicted: Owner) {
        let row = accessor.index() * self.owners + incoming.index();
        self.evictions[(row * self.owners + evicted.index()) * self.colors + color] += 1;
        if accessor != evicted {
            self.by_owner[accessor.index()].caused += 1;
            self.by_owner[evicted.index()].suffered += 1;
        }
    }

    /// Counts of an accessor in a colour.
    pub fn of(&self, who: Owner, color: usize) -> ByColor {
        self.by_color[who.index() * self.colors + color]
    }

    /// Counts of an owner in all colours; `line` is the size of a line in bytes.
    pub fn totals(&self, owner: Owner, line: u64) -> Totals {
        let counts = self.by_owner[owner.index()];
        let mut totals = Totals {
            llc_write_backs: counts.llc_write_backs,
            memory_read_bytes: counts.read_lines * line,
            memory_written_bytes: counts.written_lines * line,
            evictions_caused: counts.caused,
            evictions_suffered: counts.suffered,
            ..Totals::default()
        };
        for color in &self.by_color[owner.index() * self.colors..][..self.colors] {
            totals.accesses += color.accesses;
            totals.l1_misses += color.l1_misses;
            totals.llc_misses += color.llc_misses;
            totals.fetches += color.fetches;
            totals.l1i_misses += color.l1i_misses;
        }
        totals
    }

    /// All kinds of evictions that happened, of the owners given (all of them).
    pub fn evictions(&self, owners: &[Owner]) -> Vec<Eviction> {
        let mut found = Vec::new();
        let mut counts = self.evictions.iter();
        for &accessor in owners {
            for &incoming in owners {
                for &evicted in owners {
                    for (color, &count) in counts.by_ref().take(self.colors).enumerate() {
                        if count > 0 {
                            found.push(Eviction { color, accessor, incoming, evicted, count });
                        }
                    }
                }
            }
        }
        found
    }
}
