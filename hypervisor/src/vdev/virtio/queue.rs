//! A split ring: the driver makes chains of buffers available, and the device returns them as used.

use core::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use core::sync::atomic::fence;

use super::Memory;

/// Most chains of a ring.
pub const SIZE_MAX: u16 = 64;

/// Most buffers of a chain, so that a frame is a short piece of work: drivers put header and frame into one or two, because no
/// offload is offered for which a frame would be in parts.
pub const CHAIN_MAX: u16 = 8;

/// Flags of a descriptor.
const NEXT: u16 = 1;
const WRITE: u16 = 2;
/// Flag of the available ring: the driver wants no interrupt for used buffers.
const NO_INTERRUPT: u16 = 1;

/// Bytes of a descriptor and of an element of the used ring, and of the indices in front of both rings.
const DESCRIPTOR_BYTES: u64 = 16;
const USED_BYTES: u64 = 8;
const HEAD_BYTES: u64 = 4;

/// Places of the parts of a ring, as the driver has told them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Layout {
    /// Number of chains.
    pub size: u16,
    /// The table of descriptors.
    pub descriptors: u64,
    /// The ring of available chains.
    pub available: u64,
    /// The ring of used chains.
    pub used: u64,
}

impl Layout {
    /// Returns true if a ring can be so: then no address in it wraps, and each is aligned.
    pub fn is_valid(&self) -> bool {
        let part = |start: u64, align: u64, head: u64, element: u64| {
            let bytes = head + element * u64::from(self.size);
            start.is_multiple_of(align) && start.checked_add(bytes).is_some()
        };
        self.size.is_power_of_two()
            && self.size <= SIZE_MAX
            && part(self.descriptors, DESCRIPTOR_BYTES, 0, DESCRIPTOR_BYTES)
            && part(self.available, 2, HEAD_BYTES, 2)
            && part(self.used, 4, HEAD_BYTES, USED_BYTES)
    }
}

/// A mistake that a correct driver does not make.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Broken {
    /// A part of a ring, or a buffer, does not lie in RAM.
    Outside,
    /// More chains are available than the ring has.
    Index,
    /// A descriptor has a number that the table does not have.
    Number,
    /// A chain has more than [`CHAIN_MAX`] buffers, because it contains itself, for example.
    Long,
    /// A buffer is of the wrong kind: to be written in place of read, the other way round, or a table of descriptors.
    Kind,
    /// The buffers of a chain are too small for a frame.
    Small,
}

/// A ring, as the device sees it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Queue {
    layout: Layout,
    /// Numbers of chains that the device has taken and returned; both wrap.
    taken: u16,
    returned: u16,
}

/// One buffer.
struct Buffer {
    address: u64,
    bytes: u32,
}

impl Queue {
    /// Makes a ring of which nothing was taken; `None` if it cannot be so.
    pub fn new(layout: Layout) -> Option<Self> {
        layout.is_valid().then_some(Self { layout, taken: 0, returned: 0 })
    }

    /// Returns the number of available chains.
    pub fn waiting(&self, memory: &impl Memory) -> Result<u16, Broken> {
        let index = memory.load_u16(self.layout.available + 2).ok_or(Broken::Outside)?;
        let waiting = index.wrapping_sub(self.taken);
        if waiting > self.layout.size { Err(Broken::Index) } else { Ok(waiting) }
    }

    /// Takes the next available chain: returns the number of its first descriptor.
    pub fn take(&mut self, memory: &impl Memory) -> Result<Option<u16>, Broken> {
        if self.waiting(memory)? == 0 {
            return Ok(None);
        }
        // The driver fills a chain before it makes it available.
        fence(Acquire);
        let place = u64::from(self.taken % self.layout.size);
        let at = self.layout.available + HEAD_BYTES + 2 * place;
        let first = memory.load_u16(at).ok_or(Broken::Outside)?;
        self.taken = self.taken.wrapping_add(1);
        Ok(Some(first))
    }

    /// Takes all available chains and returns them, without a look at their buffers. Returns their number.
    pub fn give_back_all(&mut self, memory: &impl Memory) -> Result<u16, Broken> {
        let waiting = self.waiting(memory)?;
        fence(Acquire);
        let (mut left, size) = (waiting, self.layout.size);
        while left > 0 {
            // As many as are side by side in both rings: one after the other would be a long piece of work.
            let [from, to] = [self.taken, self.returned].map(|count| count % size);
            let count = left.min(size - from).min(size - to);
            let mut firsts = [0; 2 * SIZE_MAX as usize];
            let mut elements = [0; USED_BYTES as usize * SIZE_MAX as usize];
            let firsts = &mut firsts[..2 * usize::from(count)];
            let elements = &mut elements[..USED_BYTES as usize * usize::from(count)];
            let at = self.layout.available + HEAD_BYTES + 2 * u64::from(from);
            let loaded = memory.load(at, firsts);
            let each = elements.chunks_exact_mut(USED_BYTES as usize).zip(firsts.chunks_exact(2));
            each.for_each(|(element, first)| element[..2].copy_from_slice(first));
            let at = self.layout.used + HEAD_BYTES + USED_BYTES * u64::from(to);
            if !loaded || !memory.store(at, elements) {
                return Err(Broken::Outside);
            }
            self.taken = self.taken.wrapping_add(count);
            self.returned = self.returned.wrapping_add(count);
            left -= count;
        }
        if waiting > 0 {
            self.tell_returned(memory)?;
        }
        Ok(waiting)
    }

    /// Copies bytes out of the buffers of a chain, as far as `data` has room. Returns the number of bytes in the buffers.
    pub fn gather(&self, memory: &impl Memory, first: u16, data: &mut [u8]) -> Result<u64, Broken> {
        let mut total = 0;
        self.walk(memory, first, 0, |buffer| {
            let done = data.len().min(total as usize);
            let room = &mut data[done..];
            let part = room.len().min(buffer.bytes as usize);
            total += u64::from(buffer.bytes);
            let copied = part == 0 || memory.load(buffer.address, &mut room[..part]);
            copied.then_some(true).ok_or(Broken::Outside)
        })?;
        Ok(total)
    }

    /// Copies `data` into the buffers of a chain.
    pub fn scatter(&self, memory: &impl Memory, first: u16, data: &[u8]) -> Result<(), Broken> {
        let mut rest = data;
        self.walk(memory, first, WRITE, |buffer| {
            let (part, more) = rest.split_at(rest.len().min(buffer.bytes as usize));
            rest = more;
            let copied = part.is_empty() || memory.store(buffer.address, part);
            copied.then_some(!rest.is_empty()).ok_or(Broken::Outside)
        })?;
        if rest.is_empty() { Ok(()) } else { Err(Broken::Small) }
    }

    /// Returns a chain to the driver, into whose buffers `written` bytes were copied.
    pub fn give_back(
        &mut self,
        memory: &impl Memory,
        first: u16,
        written: u32,
    ) -> Result<(), Broken> {
        let place = u64::from(self.returned % self.layout.size);
        let mut element = [0; USED_BYTES as usize];
        element[..4].copy_from_slice(&u32::from(first).to_le_bytes());
        element[4..].copy_from_slice(&written.to_le_bytes());
        let stored = memory.store(self.layout.used + HEAD_BYTES + USED_BYTES * place, &element);
        self.returned = self.returned.wrapping_add(1);
        stored.then_some(()).ok_or(Broken::Outside)?;
        self.tell_returned(memory)
    }

    /// Tells the driver of all chains that were returned.
    fn tell_returned(&self, memory: &impl Memory) -> Result<(), Broken> {
        // The driver reads the index first.
        fence(Release);
        let told = memory.store_u16(self.layout.used + 2, self.returned);
        told.then_some(()).ok_or(Broken::Outside)
    }

    /// Returns true if the driver wants to be interrupted for returned chains.
    pub fn wants_interrupt(&self, memory: &impl Memory) -> Result<bool, Broken> {
        // A driver that allows interrupts looks for used buffers afterwards.
        fence(SeqCst);
        let flags = memory.load_u16(self.layout.available).ok_or(Broken::Outside)?;
        Ok(flags & NO_INTERRUPT == 0)
    }

    /// Calls `each` for the buffers of a chain, all of one kind, until it returns false.
    fn walk(
        &self,
        memory: &impl Memory,
        first: u16,
        kind: u16,
        mut each: impl FnMut(Buffer) -> Result<bool, Broken>,
    ) -> Result<(), Broken> {
        let mut number = first;
        for _ in 0..CHAIN_MAX {
            if number >= self.layout.size {
                return Err(Broken::Number);
            }
            let mut descriptor = [0; DESCRIPTOR_BYTES as usize];
            let at = self.layout.descriptors + DESCRIPTOR_BYTES * u64::from(number);
            if !memory.load(at, &mut descriptor) {
                return Err(Broken::Outside);
            }
            let [flags, next] =
                [12, 14].map(|at: usize| u16::from_le_bytes([descriptor[at], descriptor[at + 1]]));
            if flags & !NEXT != kind {
                return Err(Broken::Kind);
            }
            let [address, length] = [0, 8].map(|at: usize| {
                let bytes = descriptor[at..].iter().take(8).rev();
                bytes.fold(0, |all, byte| all << 8 | u64::from(*byte))
            });
            if !each(Buffer { address, bytes: length as u32 })? || flags & NEXT == 0 {
                return Ok(());
            }
            number = next;
        }
        Err(Broken::Long)
    }
}
