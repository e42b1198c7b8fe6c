//! Walks the page tables of a guest in pieces, without any trust in them.
//!
//! The tables are those of long mode with four levels (AMD64 Architecture Programmer's Manual, volume 2, section 5.3). The guest
//! may change them meanwhile, and they may be nonsense: each word is read once, and the walk ends.

use std::ops::Range;

use crate::layout::{LARGE, PRESENT, USER};
use crate::sys::candidates::PAGE;

/// Number of levels.
const LEVELS: usize = 4;
/// Entries of a table.
const ENTRIES: u64 = 512;
/// Bits of a virtual address that tables translate.
const BITS: u32 = 48;

/// Bits of an entry or of CR3 that are an address.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// Bit of an entry of a large page that is no address, and may be set.
const LARGE_ATTRIBUTE: u64 = 1 << 12;

/// The memory in which tables lie.
pub trait Tables {
    /// Returns the word at an address of the guest, a multiple of 8; `None` where the guest has no memory.
    fn word(&self, address: u64) -> Option<u64>;
}

/// A thing upon which a walk came. Of two bits of entries the walk knows nothing: a page that nobody may execute counts like
/// others, and so does a page whose address no processor has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Contiguous pages that CPL 3 can access. They need not be RAM, and a walk may find them again.
    Pages {
        /// The first address in the guest, a multiple of [`PAGE`](crate::PAGE).
        address: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The budget is used up: the walk can go on.
    Pause,
    /// There is nothing more.
    Done,
    /// A table lies where the guest has no memory.
    Outside,
    /// The tables are more than the walk may visit: they contain themselves, or each other in countless ways.
    TooManyTables,
}

/// A walk through a range of virtual addresses, in their order.
#[derive(Clone, Debug)]
pub struct Walker {
    /// The range in the order of tables: the addresses of the upper half follow those of the lower one.
    range: Range<u64>,
    level: usize,
    /// The tables in which the walk is.
    tables: [Table; LEVELS],
    /// Number of tables that may still be visited.
    tables_left: u64,
}

/// A table, and how far it has been read.
#[derive(Clone, Copy, Debug)]
struct Table {
    address: u64,
    /// The first place in the range's order that it translates.
    from: u64,
    next: u64,
}

/// The meaning of an entry.
enum Entry {
    /// Nothing that CPL 3 can access.
    Nothing,
    Table(u64),
    Leaf(u64),
}

/// Returns the number of address bits that an entry of this level leaves.
const fn shift(level: usize) -> u32 {
    BITS - 9 * (level as u32 + 1)
}

/// The lower half of the addresses that tables translate has this many; the upper half are the last ones of all.
const HALF: u64 = 1 << (BITS - 1);

/// Returns the place of a virtual address in the order of tables; `None`: nothing translates it, because it is between the halves.
fn place(address: u64) -> Option<u64> {
    let is_translated = address < HALF || address >= HALF.wrapping_neg();
    is_translated.then_some(address & ((1 << BITS) - 1))
}

/// Returns the places of the pages that contain some of `bytes` bytes from `start` on.
fn pages(start: u64, bytes: u64) -> Range<u64> {
    let Some(rest) = bytes.checked_sub(1) else { return 0..0 };
    let last = start.saturating_add(rest);
    let first = place(start & !(PAGE - 1)).unwrap_or(HALF);
    first..place(last & !(PAGE - 1)).map_or(HALF, |last| last + PAGE)
}

fn entry(level: usize, word: u64) -> Entry {
    if word & (PRESENT | USER) != PRESENT | USER {
        return Entry::Nothing;
    }
    let address = word & ADDRESS;
    match level {
        3 => Entry::Leaf(address),
        0 if word & LARGE != 0 => Entry::Nothing,
        1 | 2 if word & LARGE != 0 => {
            let address = address & !LARGE_ATTRIBUTE;
            let is_aligned = address.is_multiple_of(1 << shift(level));
            if is_aligned { Entry::Leaf(address) } else { Entry::Nothing }
        }
        _ => Entry::Table(address),
    }
}

impl Walker {
    /// Begins a walk from the table that CR3 names, through the pages that contain some of `bytes` bytes from `start` on. It
    /// visits at most `tables` tables.
    pub fn new(cr3: u64, start: u64, bytes: u64, tables: u64) -> Self {
        let range = pages(start, bytes);
        let root = Table { address: cr3 & ADDRESS, from: 0, next: range.start >> shift(0) };
        Self { range, level: 0, tables: [root; LEVELS], tables_left: tables.saturating_sub(1) }
    }

    /// Goes on to the next pages. Takes the entries that it reads from `budget`, and pauses when nothing is left of it.
    pub fn next(&mut self, memory: &impl Tables, budget: &mut u32) -> Step {
        loop {
            let (level, shift) = (self.level, shift(self.level));
            let table = &mut self.tables[level];
            let from = table.from + (table.next << shift);
            if table.next >= ENTRIES || from >= self.range.end {
                match level.checked_sub(1) {
                    None => return Step::Done,
                    Some(above) => self.level = above,
                }
                continue;
            }
            if *budget == 0 {
                return Step::Pause;
            }
            *budget -= 1;
            let Some(word) = memory.word(table.address + 8 * table.next) else {
                return Step::Outside;
            };
            table.next += 1;
            match entry(level, word) {
                Entry::Nothing => {}
                Entry::Leaf(address) => {
                    let start = self.range.start.max(from);
                    let end = self.range.end.min(from + (1 << shift));
                    let address = address + (start - from);
                    return Step::Pages { address, bytes: end - start };
                }
                Entry::Table(address) => {
                    if self.tables_left == 0 {
                        return Step::TooManyTables;
                    }
                    self.tables_left -= 1;
                    self.level += 1;
                    let next = self.range.start.saturating_sub(from) >> self::shift(self.level);
                    self.tables[self.level] = Table { address, from, next };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
