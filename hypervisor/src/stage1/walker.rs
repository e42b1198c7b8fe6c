//! Walks the tables of an address space, in pieces.

use super::format::{Entry, Format, LEVELS};
use super::{Space, Tables};

/// A thing upon which a walk came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// A page or block that EL0 can read: contiguous memory, aligned to its size. It need
    /// not be RAM; and another one may be the same.
    Pages {
        /// Its first address.
        ipa: u64,
        /// Its size.
        bytes: u64,
    },
    /// The budget is used up: the walk can go on.
    Pause,
    /// There is nothing more.
    Done,
    /// The tables are more than the walk may visit: they contain themselves, or each
    /// other in countless ways.
    TooManyTables,
}

/// A walk of an address space, in the order of virtual addresses.
///
/// Present are valid entries, whether or not their access flag is set. A page that EL0
/// may execute but not read does not count as accessible. Contiguous hints say nothing about
/// what is mapped.
#[derive(Clone, Debug)]
pub struct Walker {
    format: Format,
    level: u32,
    /// The tables in which the walk is, by level.
    tables: [Table; LEVELS],
    /// Number of tables that may still be visited.
    tables_left: u32,
}

/// A table, and how far it has been read.
#[derive(Clone, Copy, Debug)]
struct Table {
    ipa: u64,
    next: u32,
    entries: u32,
}

impl Walker {
    /// A walk that visits at most `tables` tables; `None` if the registers describe
    /// an address space of a kind that is not known: 52-bit virtual addresses, or reserved
    /// values. The guest's translation must be on (SCTLR_EL1.M).
    pub fn new(space: Space, tables: u32) -> Option<Self> {
        let format = Format::new(space.tcr)?;
        let level = format.first_level;
        let entries = if format.disabled { 0 } else { format.entries(level) };
        let first = Table { ipa: format.first_table(space.ttbr0), next: 0, entries };
        Some(Self { format, level, tables: [first; LEVELS], tables_left: tables.saturating_sub(1) })
    }

    /// Goes on to the next pages. Takes the entries that it reads from `budget`, and
    /// pauses when nothing is left of it.
    pub fn next(&mut self, memory: &mut impl Tables, budget: &mut u32) -> Step {
        loop {
            let level = self.level;
            let table = &mut self.tables[level as usize % LEVELS];
            if table.next >= table.entries {
                if level == self.format.first_level {
                    return Step::Done;
                }
                self.level -= 1;
                continue;
            }
            if *budget == 0 {
                return Step::Pause;
            }
            *budget -= 1;
            let Some(descriptor) = memory.word(table.ipa + 8 * u64::from(table.next)) else {
                // A table where the VM has no memory maps nothing.
                table.next = table.entries;
                continue;
            };
            table.next += 1;
            match self.format.entry(level, descriptor) {
                Entry::Leaf { ipa, user: true } => {
                    return Step::Pages { ipa, bytes: 1 << self.format.entry_shift(level) };
                }
                Entry::Table { ipa, user: true } => {
                    if self.tables_left == 0 {
                        return Step::TooManyTables;
                    }
                    self.tables_left -= 1;
                    self.level += 1;
                    let entries = self.format.entries(self.level);
                    self.tables[self.level as usize % LEVELS] = Table { ipa, next: 0, entries };
                }
                _ => {}
            }
        }
    }
}
