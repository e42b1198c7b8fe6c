//! The page with the addresses of the rings, for tools that read the RAM of a running machine.
//!
//! It is one of the pages of the hypervisor: in the region that the plan gives it, or, if the
//! hypervisor has colours, in a frame of its area. A tool looks for the page only there, because
//! the memory of a VM may contain a forged one. The page consists of words of 64 bits, little
//! endian. A page with [`MAGIC`], and with its own address in [`ADDRESS_WORD`], is a complete
//! descriptor.
//!
//! A ring is contiguous in virtual addresses; its pages may be frames anywhere. Its counter is
//! incremented when a record is complete, and the new value is visible before the next record is
//! begun. So a reader copies records, reads the counter again (`n`), and keeps those with numbers
//! above `n - RING_RECORDS`: the others may have been overwritten.

use super::{RECORD_BYTES, RING_RECORDS};

/// First word of the page: `BLKTRACE`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BLKTRACE");
/// Version of the layout and of the kinds of records.
pub const VERSION: u64 = 2;
/// Bytes of the page, and of those of the rings.
pub const PAGE_BYTES: usize = crate::limits::PAGE_BYTES as usize;
/// Words of the page.
pub const WORDS: usize = PAGE_BYTES / 8;
/// Most pages on which a ring lies, in which it may begin and end anywhere.
pub const RING_PAGES: usize = RING_RECORDS * RECORD_BYTES / PAGE_BYTES + 1;

/// Number of the word with [`MAGIC`], written last.
pub const MAGIC_WORD: usize = 0;
/// Number of the word with [`VERSION`].
pub const VERSION_WORD: usize = 1;
/// Number of the word with the physical address of the page itself.
pub const ADDRESS_WORD: usize = 2;
/// Number of the word with the frequency of the system counter in Hz.
pub const FREQUENCY_WORD: usize = 3;
/// Number of the word with the number of rings: one for each CPU of the plan, in its order.
pub const RINGS_WORD: usize = 4;
/// Number of the word with the number of records of each ring.
pub const RECORDS_WORD: usize = 5;

/// Returns the number of the first word of a ring. The words of a ring are the physical address of
/// its counter (the number of records since the start), and the physical addresses of its first
/// record and of each further page with records; unused words are 0.
pub const fn ring_word(ring: usize) -> usize {
    8 + ring * (1 + RING_PAGES)
}

/// Most rings that a descriptor has room for.
pub const RINGS_MAX: usize = (WORDS - ring_word(0)) / (1 + RING_PAGES);
