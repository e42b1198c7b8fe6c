//! A split ring in RAM, with a buffer for each descriptor, which are used one after the other.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst, fence};

use abi::limits::PAGE_BYTES as PAGE;

use super::address;
use crate::arch::ram::{Arena, Words};

/// Descriptors, and buffers, of a ring.
pub const RING: u16 = 64;
/// Bytes of a buffer.
pub(super) const BUFFER_BYTES: u32 = 2048;
const BUFFER: u64 = BUFFER_BYTES as u64;

/// The places of the parts in the first page: no word of one is a word of another.
const AVAILABLE: u64 = 1024;
const USED: u64 = 2048;

/// The chain goes on.
const NEXT: u16 = 1;
/// The card may write the buffer.
pub(super) const WRITE: u16 = 2;

/// A ring.
pub struct Ring {
    words: Words,
    buffers: Words,
    /// The number of chains that were made available, and of those that were found returned; both wrap.
    offered: u16,
    found: u16,
    /// The number of parts of each frame. If there are several, one frame is on its way at a time.
    parts: u16,
}

impl Ring {
    /// Takes RAM for a ring.
    pub(super) fn take(memory: &mut Arena) -> Option<Self> {
        let words = memory.allocate(PAGE, PAGE)?;
        let buffers = memory.allocate(u64::from(RING) * BUFFER, PAGE)?;
        Some(Self { words, buffers, offered: 0, found: 0, parts: 1 })
    }

    /// Makes it empty.
    pub(super) fn clear(&mut self) {
        self.words.iter().for_each(|word| word.store(0, SeqCst));
        (self.offered, self.found) = (0, 0);
    }

    /// Puts each frame into `parts` parts.
    pub fn set_parts(&mut self, parts: u16) {
        self.parts = parts.clamp(1, RING);
    }

    /// Addresses of its descriptors, of what is available and of what is used.
    pub fn addresses(&self) -> [u64; 3] {
        let start = address(self.words);
        [start, start + AVAILABLE, start + USED]
    }

    /// The words of a buffer.
    pub(super) fn buffer(&self, number: u16) -> Words {
        let words = (BUFFER / 8) as usize;
        &self.buffers[usize::from(number % RING) * words..][..words]
    }

    /// The buffer that is next, unless it is on its way.
    pub(super) fn free(&self) -> Option<u16> {
        let on_their_way = self.offered.wrapping_sub(self.found);
        match self.parts {
            1 => (on_their_way < RING).then_some(self.offered % RING),
            _ => (on_their_way == 0).then_some(0),
        }
    }

    /// Makes the next buffer available for a frame that comes.
    pub(super) fn offer_to_write(&mut self) {
        if let Some(buffer) = self.free() {
            self.offer(buffer, BUFFER_BYTES, WRITE);
        }
    }

    /// Makes a buffer available.
    pub(super) fn offer(&mut self, buffer: u16, bytes: u32, flags: u16) {
        self.describe_chain(buffer, bytes, flags);
        self.make_available(self.offered, buffer);
        self.offer_more(1);
    }

    /// Describes a buffer, in as many parts as frames are in.
    fn describe_chain(&self, buffer: u16, bytes: u32, flags: u16) {
        let (start, piece) = (address(self.buffer(buffer)), bytes / u32::from(self.parts));
        for part in 0..self.parts {
            let is_last = part + 1 == self.parts;
            let at = piece * u32::from(part);
            let bytes = if is_last { bytes - at } else { piece };
            let flags = if is_last { flags } else { flags | NEXT };
            self.describe(buffer + part, start + u64::from(at), bytes, flags, buffer + part + 1);
        }
    }

    /// Makes the first buffer the one of every place of the ring, and all places available.
    pub(super) fn offer_one_everywhere(&mut self, bytes: u32, flags: u16) {
        self.describe_chain(0, bytes, flags);
        (0..RING).for_each(|place| self.make_available(place, 0));
        self.offer_more(RING - self.offered.wrapping_sub(self.found));
    }

    /// Makes all places available again that were returned.
    pub(super) fn offer_again(&mut self) {
        let returned = self.used().wrapping_sub(self.found);
        self.found = self.found.wrapping_add(returned);
        self.offer_more(returned);
    }

    /// Makes more places available, as they are.
    fn offer_more(&mut self, places: u16) {
        self.offered = self.offered.wrapping_add(places);
        self.set_index(self.offered);
    }

    /// Returns the number of chains that were returned; it wraps.
    fn used(&self) -> u16 {
        (self.words[(USED / 8) as usize].load(SeqCst) >> 16) as u16
    }

    /// Finds a chain that was returned: its first descriptor, and the number of bytes that were written.
    pub(super) fn returned(&mut self) -> Option<(u16, u32)> {
        if self.used() == self.found {
            return None;
        }
        fence(SeqCst);
        let at = USED + 4 + 8 * u64::from(self.found % RING);
        let [first, bytes] = [at, at + 4].map(|at| self.get(at, 4));
        self.found = self.found.wrapping_add(1);
        Some((first as u16, bytes as u32))
    }

    /// Writes a descriptor.
    pub fn describe(&self, number: u16, address: u64, bytes: u32, flags: u16, next: u16) {
        let at = 16 * u64::from(number % RING);
        self.set(at, 8, address);
        let rest = u64::from(bytes) | u64::from(flags) << 32 | u64::from(next) << 48;
        self.set(at + 8, 8, rest);
    }

    /// Tells the card not to interrupt for what it returns.
    pub(super) fn want_no_interrupts(&self) {
        self.set(AVAILABLE, 2, 1);
    }

    /// Writes which chain is the one with this index.
    pub fn make_available(&self, index: u16, first: u16) {
        self.set(AVAILABLE + 4 + 2 * u64::from(index % RING), 2, first.into());
    }

    /// Writes the number of chains that are available.
    pub fn set_index(&self, index: u16) {
        fence(SeqCst);
        self.set(AVAILABLE + 2, 2, index.into());
        fence(SeqCst);
    }

    fn word(&self, at: u64) -> &'static AtomicU64 {
        &self.words[(at / 8) as usize]
    }

    /// Reads bytes of one word.
    fn get(&self, at: u64, bytes: u64) -> u64 {
        self.word(at).load(SeqCst) >> (8 * (at % 8)) & u64::MAX >> (64 - 8 * bytes)
    }

    /// Writes bytes of one word.
    fn set(&self, at: u64, bytes: u64, value: u64) {
        let (shift, mask) = (8 * (at % 8), u64::MAX >> (64 - 8 * bytes));
        let before = self.word(at).load(SeqCst);
        self.word(at).store(before & !(mask << shift) | (value & mask) << shift, SeqCst);
    }
}
