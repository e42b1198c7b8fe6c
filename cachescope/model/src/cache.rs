//! One set-associative write-back cache, by line number.

use crate::{Geometry, Policy, Replacement};

/// Marks an empty way. No line number reaches it: addresses have at most 52 bits.
const EMPTY: u64 = u64::MAX;

/// The dirty bit of an entry; the line number is above it.
const DIRTY: u64 = 1;

/// A set-associative cache with write-back and write-allocate. It holds line
/// numbers (address / line bytes), no data.
#[derive(Clone, Debug)]
pub struct Cache {
    entries: Box<[u64]>,
    set_mask: usize,
    ways: usize,
    replacement: Replacement,
}

/// The state of a line in a cache before an access.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Found {
    /// It had it, unchanged since it came from the next level.
    Clean,
    /// It had it, changed.
    Dirty,
    /// It did not have it.
    No,
}

/// A line that had to go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Victim {
    /// Its number.
    pub line: u64,
    /// True if it has to be written to the next level.
    pub dirty: bool,
}

impl Cache {
    /// An empty cache.
    pub fn new(geometry: Geometry, policy: Policy, seed: u64) -> Self {
        let (sets, ways) = (geometry.sets() as usize, geometry.ways() as usize);
        Self {
            entries: vec![EMPTY; sets * ways].into(),
            set_mask: sets - 1,
            ways,
            replacement: Replacement::new(policy, geometry, seed),
        }
    }

    /// Looks for a line and, if it is there, uses it; a store makes it dirty.
    #[inline]
    pub fn touch(&mut self, line: u64, store: bool) -> Found {
        let set = line as usize & self.set_mask;
        let Some(way) = self.way_of(set, line) else {
            return Found::No;
        };
        let entry = &mut self.entries[set * self.ways + way];
        let found = if *entry & DIRTY == 0 { Found::Clean } else { Found::Dirty };
        *entry |= u64::from(store);
        self.replacement.touch(set, way);
        found
    }

    /// Takes in a line that is not in the cache. The line that had to make room
    /// is returned.
    pub fn fill(&mut self, line: u64, dirty: bool) -> Option<Victim> {
        let set = line as usize & self.set_mask;
        debug_assert!(self.way_of(set, line).is_none(), "line {line:#x} is in the cache");
        let row = &self.entries[set * self.ways..][..self.ways];
        let (way, victim) = match row.iter().position(|&entry| entry == EMPTY) {
            Some(way) => (way, None),
            None => {
                let way = self.replacement.victim(set);
                (way, Some(Victim { line: row[way] >> 1, dirty: row[way] & DIRTY != 0 }))
            }
        };
        self.entries[set * self.ways + way] = line << 1 | u64::from(dirty);
        self.replacement.touch(set, way);
        victim
    }

    /// Drops a line. Returns true if it was dirty, `None` if it was not there.
    pub fn invalidate(&mut self, line: u64) -> Option<bool> {
        let entry = self.entry_of(line)?;
        let dirty = *entry & DIRTY != 0;
        *entry = EMPTY;
        Some(dirty)
    }

    /// Makes a line clean and keeps it. Returns true if it was there and dirty.
    pub fn clean(&mut self, line: u64) -> bool {
        match self.entry_of(line) {
            Some(entry) => {
                let dirty = *entry & DIRTY != 0;
                *entry &= !DIRTY;
                dirty
            }
            None => false,
        }
    }

    /// Returns true if the line is in the cache; uses nothing.
    pub fn contains(&self, line: u64) -> bool {
        self.way_of(line as usize & self.set_mask, line).is_some()
    }

    /// The lines in the cache, set by set, and whether they are dirty.
    pub fn lines(&self) -> impl Iterator<Item = (u64, bool)> {
        let in_use = self.entries.iter().filter(|&&entry| entry != EMPTY);
        in_use.map(|&entry| (entry >> 1, entry & DIRTY != 0))
    }

    #[inline]
    fn way_of(&self, set: usize, line: u64) -> Option<usize> {
        // The smallest loop on the hottest path: compare with the dirty bit set
        // on both sides. EMPTY equals no line.
        let wanted = line << 1 | DIRTY;
        let row = &self.entries[set * self.ways..][..self.ways];
        row.iter().position(|&entry| entry | DIRTY == wanted)
    }

    fn entry_of(&mut self, line: u64) -> Option<&mut u64> {
        let set = line as usize & self.set_mask;
        let way = self.way_of(set, line)?;
        Some(&mut self.entries[set * self.ways + way])
    }
}
