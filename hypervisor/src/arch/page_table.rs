//! Translation tables with 4 KiB pages: three levels, 39-bit addresses, blocks of
//! 2 MiB and 1 GiB where alignment allows. The same code builds the tables of EL2
//! and the stage-2 tables of VMs; only the attribute bits differ.

use alloc::alloc::{Layout, alloc_zeroed};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use policy::color::Stripe;

pub use abi::limits::{ADDRESS_END, PAGE_BYTES};

const ENTRIES: usize = 512;
const VALID: u64 = 1;
const TABLE_OR_PAGE: u64 = 2;
const ACCESS_FLAG: u64 = 1 << 10;
const ADDRESS_MASK: u64 = 0x0000_ffff_ffff_f000;

/// The reason why a range was not mapped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MapError {
    /// Address or length is not a multiple of [`PAGE_BYTES`], or lies beyond [`ADDRESS_END`].
    Range,
    /// The address is mapped already.
    Overlap(u64),
    /// The memory for tables is used up: the hypervisor's, or that of a VM with colours.
    OutOfMemory,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range => f.write_str("not whole pages, or too high"),
            Self::Overlap(address) => write!(f, "{address:#x} is mapped already"),
            Self::OutOfMemory => f.write_str("the memory for tables is used up"),
        }
    }
}

/// Words of a page.
pub const PAGE_WORDS: usize = ENTRIES;

/// A page of memory.
pub type Page = [AtomicU64; PAGE_WORDS];

/// A page of the hypervisor's heap, all of it zero; `None` if the heap has no more.
#[inline(never)]
pub fn zeroed_page() -> Option<&'static Page> {
    let layout = Layout::new::<Page>().align_to(PAGE_BYTES as usize).ok()?;
    // SAFETY: the layout is not empty; the memory is zeroed, which is a valid array, and never given back.
    unsafe { alloc_zeroed(layout).cast::<Page>().as_ref() }
}

/// One table. While a VM runs, the entries of its pages change under the hands of others.
type Table = Page;

/// A tree of tables; lives for ever.
#[derive(Debug)]
pub struct PageTable {
    root: &'static Table,
    frames: Frames,
}

/// The source of the frames of tables.
#[derive(Debug)]
pub struct Frames(Source);

#[derive(Debug)]
enum Source {
    Heap,
    /// The frames of a stripe with these numbers.
    Stripe(Stripe, core::ops::Range<u64>),
}

impl Frames {
    /// Frames from the hypervisor's heap.
    pub const HEAP: Self = Self(Source::Heap);

    /// Makes a source of the frames of a stripe with these numbers.
    ///
    /// # Safety
    /// The frames are writable memory, mapped one to one, that nothing else uses,
    /// now or later.
    pub unsafe fn of_stripe(stripe: Stripe, numbers: core::ops::Range<u64>) -> Self {
        Self(Source::Stripe(stripe, numbers))
    }

    /// An empty table.
    #[inline(never)]
    fn table(&mut self) -> Option<&'static Table> {
        match &mut self.0 {
            Source::Heap => zeroed_page(),
            Source::Stripe(stripe, numbers) => {
                let frame = stripe.frame(numbers.next()?) as *mut Table;
                // SAFETY: `of_stripe` vouches for the frame, and each number is
                // taken once; zeroes are a valid array.
                unsafe {
                    frame.write_bytes(0, 1);
                    frame.as_ref()
                }
            }
        }
    }
}

/// A thing that [`PageTable::walk`] finds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Found {
    /// A table.
    Table {
        /// First input address that it translates.
        input: u64,
        /// Its own address.
        address: u64,
    },
    /// The next entries of a table, [`STRETCH`] of them, empty or not.
    Entries {
        /// First input address that they translate.
        input: u64,
    },
    /// Bytes at an input address, mapped to an output address.
    Leaf {
        /// First input address.
        input: u64,
        /// First output address.
        output: u64,
        /// Bytes.
        bytes: u64,
        /// The other bits of the entry.
        attributes: u64,
    },
}

/// Entries of a table that a walk tells of at once: 16 lines of a cache.
pub const STRETCH: usize = 128;

/// Bytes that an entry of the level covers: 1 GiB, 2 MiB, 4 KiB for levels 1, 2, 3.
const fn span(level: u32) -> u64 {
    PAGE_BYTES << (9 * (3 - level))
}

impl PageTable {
    /// Empty tables; `None` without memory.
    pub fn new(mut frames: Frames) -> Option<Self> {
        frames.table().map(|root| Self { root, frames })
    }

    /// Physical address of the root, for TTBR0_EL2 or VTTBR_EL2.
    pub fn root_address(&self) -> u64 {
        core::ptr::from_ref(self.root) as u64
    }

    /// Maps `bytes` bytes at `input` to `output` with these attribute bits.
    pub fn map(
        &mut self,
        input: u64,
        output: u64,
        bytes: u64,
        attributes: u64,
    ) -> Result<(), MapError> {
        let end = input.checked_add(bytes).ok_or(MapError::Range)?;
        if !(input | output | bytes).is_multiple_of(PAGE_BYTES)
            || end > ADDRESS_END
            || output.checked_add(bytes).is_none()
        {
            return Err(MapError::Range);
        }
        map_level(self.root, &mut self.frames, 1, input, output, bytes, attributes)
    }

    /// Visits every table and every mapping from an input address on, in ascending order,
    /// reading the tables as hardware does, but for pages that are [`hidden`]: they are mapped
    /// as well.
    ///
    /// Returns false, and ends early, if a visit returns false. From the input address of that
    /// visit another walk goes on with it; tables that begin there are visited again.
    pub fn walk(&self, from: u64, visit: &mut dyn FnMut(Found) -> bool) -> bool {
        walk_level(self.root, 1, 0, from, visit)
    }

    /// The leaf entry that translates an input address, if there is one:
    /// `(output address, attribute bits)`.
    pub fn lookup(&self, input: u64) -> Option<(u64, u64)> {
        let mut table = self.root;
        for level in 1..=3 {
            let entry = table[index(input, level)?].load(Relaxed);
            if entry & VALID == 0 {
                return None;
            }
            match next_table(entry, level) {
                Some(next) => table = next,
                None => {
                    let within = input & (span(level) - 1);
                    let output = entry & ADDRESS_MASK & !(span(level) - 1) | within;
                    return Some((output, entry & !ADDRESS_MASK));
                }
            }
        }
        None
    }

    /// Makes the tables for pages at an input range that nothing is mapped to; the pages
    /// themselves stay absent.
    pub fn reserve_pages(&mut self, input: u64, bytes: u64) -> Result<(), MapError> {
        let end = input.checked_add(bytes).filter(|&end| end <= ADDRESS_END);
        let end = end.ok_or(MapError::Range)?;
        let mut address = input;
        while address < end {
            let mut table = self.root;
            for level in 1..3 {
                table = table_below(
                    &table[index(address, level).ok_or(MapError::Range)?],
                    level,
                    address,
                    &mut self.frames,
                )?;
            }
            address = (address | (span(2) - 1)) + 1;
        }
        Ok(())
    }

    /// The entry of the page at an input address, where the tables reach down to pages.
    #[inline(always)]
    pub fn page(&self, input: u64) -> Option<&'static AtomicU64> {
        let second = next_table(self.root[index(input, 1)?].load(Relaxed), 1)?;
        let third = next_table(second[index(input, 2)?].load(Relaxed), 2)?;
        third.get(index(input, 3)?)
    }
}

/// The table to which an entry at a level points, if it does.
#[inline(always)]
fn next_table(entry: u64, level: u32) -> Option<&'static Table> {
    const POINTER: u64 = TABLE_OR_PAGE | VALID;
    if level == 3 || entry & POINTER != POINTER {
        return None;
    }
    // SAFETY: a valid entry above level 3 with the table bit was stored by
    // `table_below` and points to a table that lives for ever.
    Some(unsafe { &*((entry & ADDRESS_MASK) as *const Table) })
}

/// The table to which an entry at a level above 3 points, made if there is nothing yet.
fn table_below(
    entry: &AtomicU64,
    level: u32,
    input: u64,
    frames: &mut Frames,
) -> Result<&'static Table, MapError> {
    let value = entry.load(Relaxed);
    if value & VALID != 0 {
        return next_table(value, level).ok_or(MapError::Overlap(input));
    }
    let table = frames.table().ok_or(MapError::OutOfMemory)?;
    entry.store(core::ptr::from_ref(table) as u64 | TABLE_OR_PAGE | VALID, Relaxed);
    Ok(table)
}

/// The entry of a page: present, with these attributes.
pub const fn page_entry(output: u64, attributes: u64) -> u64 {
    output | attributes | ACCESS_FLAG | TABLE_OR_PAGE | VALID
}

/// The same entry of a page, but not present for hardware, which gets a translation fault.
pub const fn hidden(entry: u64) -> u64 {
    entry & !VALID
}

/// Output address of an entry of a page, hidden or not.
pub const fn output_of(entry: u64) -> u64 {
    entry & ADDRESS_MASK
}

fn index(input: u64, level: u32) -> Option<usize> {
    (input < ADDRESS_END).then(|| (input / span(level)) as usize % ENTRIES)
}

fn walk_level(
    table: &Table,
    level: u32,
    first: u64,
    from: u64,
    visit: &mut dyn FnMut(Found) -> bool,
) -> bool {
    let address = core::ptr::from_ref(table) as u64;
    if first >= from && !visit(Found::Table { input: first, address }) {
        return false;
    }
    let skipped = from.saturating_sub(first) / span(level);
    let mut next_input = first + skipped * span(level);
    let mut index = skipped as usize;
    while index < ENTRIES {
        let input = next_input;
        if index.is_multiple_of(STRETCH) && input >= from && !visit(Found::Entries { input }) {
            return false;
        }
        let end = (index / STRETCH + 1) * STRETCH;
        for entry in table.get(index..end).unwrap_or_default() {
            let input = next_input;
            next_input += span(level);
            let entry = entry.load(Relaxed);
            if entry == 0 {
                continue;
            }
            let go_on = match next_table(entry, level) {
                Some(next) => walk_level(next, level + 1, input, from, visit),
                None => {
                    let (output, attributes) = (entry & ADDRESS_MASK, entry & !ADDRESS_MASK);
                    visit(Found::Leaf { input, output, bytes: span(level), attributes })
                }
            };
            if !go_on {
                return false;
            }
        }
        index = end;
    }
    true
}

#[inline(never)]
fn map_level(
    table: &Table,
    frames: &mut Frames,
    level: u32,
    mut input: u64,
    mut output: u64,
    mut bytes: u64,
    attributes: u64,
) -> Result<(), MapError> {
    let span = span(level);
    while bytes > 0 {
        let entry = &table[(input / span) as usize % ENTRIES];
        let part = bytes.min(span - input % span);
        if part == span && output.is_multiple_of(span) {
            if entry.load(Relaxed) & VALID != 0 {
                return Err(MapError::Overlap(input));
            }
            let kind = if level == 3 { TABLE_OR_PAGE } else { 0 };
            entry.store(output | attributes | ACCESS_FLAG | kind | VALID, Relaxed);
        } else {
            let next = table_below(entry, level, input, frames)?;
            map_level(next, frames, level + 1, input, output, part, attributes)?;
        }
        input += part;
        output += part;
        bytes -= part;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
