//! RAM behind the program as atomic words: for tests that share it with other processors, translation
//! tables and code at EL0.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::mmu;

/// Words of RAM, at the same virtual as guest physical address.
pub type Words = &'static [AtomicU64];

/// Free RAM, given out in ascending order. What is taken stays taken.
#[derive(Debug)]
pub struct Arena {
    // Private: `start..end` is mapped; what lies below `next` is only used as atomic words, what lies
    // above by nobody.
    start: u64,
    next: u64,
    end: u64,
}

impl Arena {
    /// Takes the RAM behind the program up to the device tree, if that lies there; `None` if it has been
    /// taken before, by [`crate::coloring::Memory`] or here. `ram_bytes` is the size of all RAM.
    pub fn take(ram_bytes: u64) -> Option<Self> {
        let (ram, tree) = mmu::take_free_ram(ram_bytes)?;
        let end = if tree.is_empty() { ram.end } else { tree.start };
        Some(Self { start: ram.start, next: ram.start, end })
    }

    /// Takes `bytes`, aligned to `align`, a power of two of at least 8; `None` if there is not that much.
    /// The words are zero.
    pub fn allocate(&mut self, bytes: u64, align: u64) -> Option<Words> {
        let start = self.next.checked_next_multiple_of(align)?;
        let end = start.checked_add(bytes).filter(|&end| end <= self.end)?;
        self.next = end;
        let words = self.given(start, bytes)?;
        for word in words {
            word.store(0, SeqCst);
        }
        Some(words)
    }

    /// Words that have been given out before, if these have.
    pub fn given(&self, address: u64, bytes: u64) -> Option<Words> {
        let end = address.checked_add(bytes)?;
        if address < self.start || self.next < end || !address.is_multiple_of(8) {
            return None;
        }
        // SAFETY: mapped memory, which is only used as atomic words.
        let words = unsafe {
            core::slice::from_raw_parts(address as *const AtomicU64, (bytes / 8) as usize)
        };
        Some(words)
    }
}

/// Guest physical address of words of an [`Arena`].
pub fn address(words: Words) -> u64 {
    words.as_ptr() as u64
}
