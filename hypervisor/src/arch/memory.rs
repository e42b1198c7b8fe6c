//! Physical memory that the plan gave to the hypervisor or to VMs, as bytes.

use core::arch::asm;
use core::ops::Range;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::compiler_fence;

use policy::color::Stripe;

use super::page_table::PAGE_BYTES;

/// Memory that is read only and shared for ever: the payload.
///
/// # Safety
/// The range is mapped, and nothing writes to it from now on.
pub unsafe fn constants(start: usize, bytes: usize) -> &'static [u8] {
    // SAFETY: the caller vouches for the range.
    unsafe { core::slice::from_raw_parts(start as *const u8, bytes) }
}

/// A frame of one page that belongs to a VM.
// Private: comes from a `GuestMemory`, or back from the VM's translation tables, so that it
// is RAM in which nothing of the hypervisor lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frame(u64);

impl Frame {
    /// The frame to which a page of a VM's RAM is mapped.
    pub(super) fn mapped(address: u64) -> Self {
        Self(address)
    }

    /// Address of its first byte.
    #[inline(always)]
    pub fn address(self) -> u64 {
        self.0
    }

    /// Copies bytes out of the frame, also those that a guest wrote with its caches off.
    /// `start + data.len()` is at most a page.
    pub fn read(self, start: u64, data: &mut [u8]) {
        let source = (self.0 + start) as usize;
        super::cpu::clean_and_invalidate(source, data.len());
        for (index, byte) in data.iter_mut().enumerate() {
            // SAFETY: the source lies in memory of this VM, which may change it
            // meanwhile: each byte is read once.
            *byte = unsafe { (source as *const u8).add(index).read_volatile() };
        }
    }

    /// The word of 8 bytes at an address (modulo the size of a page); `uncached`, also if the
    /// guest wrote it with its caches off.
    #[inline(always)]
    pub fn word(self, address: u64, uncached: bool) -> u64 {
        let source = (self.0 | address & (PAGE_BYTES - 8)) as usize;
        if uncached {
            super::cpu::clean_and_invalidate(source, 8);
        }
        // SAFETY: as in `read`; the address is aligned.
        unsafe { (source as *const u64).read_volatile() }
    }

    /// Copies the frame to another one, past the caches on both sides: the guest may have
    /// written with its caches off, and may read so. No guest can reach either of them.
    pub fn copy_to(self, target: Self) {
        let (source, end) = (self.0, self.0 + PAGE_BYTES);
        super::cpu::clean_and_invalidate(source as usize, PAGE_BYTES as usize);
        // SAFETY: both frames are whole pages of the VM's memory; nothing of Rust's lies there.
        unsafe {
            asm!(
                "2: ldp {a}, {b}, [{source}]",
                "ldp {c}, {d}, [{source}, #16]",
                "ldp {e}, {f}, [{source}, #32]",
                "ldp {g}, {h}, [{source}, #48]",
                "stp {a}, {b}, [{target}]",
                "stp {c}, {d}, [{target}, #16]",
                "stp {e}, {f}, [{target}, #32]",
                "stp {g}, {h}, [{target}, #48]",
                "add {source}, {source}, #64",
                "add {target}, {target}, #64",
                "cmp {source}, {end}",
                "b.ne 2b",
                a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
                e = out(reg) _, f = out(reg) _, g = out(reg) _, h = out(reg) _,
                source = inout(reg) source => _, target = inout(reg) target.0 => _,
                end = in(reg) end,
                options(nostack)
            );
        }
        super::cpu::clean_and_invalidate(target.0 as usize, PAGE_BYTES as usize);
    }
}

/// RAM of a VM: the first frames of a stripe.
#[derive(Clone, Copy, Debug)]
pub struct GuestMemory {
    stripe: Stripe,
    bytes: u64,
}

impl GuestMemory {
    /// The first `bytes` bytes of a stripe.
    ///
    /// # Safety
    /// The frames are RAM, are mapped as data in the final tables of EL2, and hold
    /// nothing of the hypervisor: whatever is written there hurts that VM alone.
    pub unsafe fn new(stripe: Stripe, bytes: u64) -> Self {
        Self { stripe, bytes }
    }

    /// Size in bytes.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// The frame of a page, which must be below [`GuestMemory::bytes`].
    #[inline(always)]
    pub fn frame(self, page: u64) -> Frame {
        Frame(self.stripe.frame(page))
    }

    /// Calls `each` with the address and the position in the range of every piece
    /// of a range that lies in one frame. Returns false if the range does not lie in the memory.
    fn pieces(self, offset: u64, bytes: usize, each: &mut dyn FnMut(usize, Range<usize>)) -> bool {
        if offset.checked_add(bytes as u64).is_none_or(|end| end > self.bytes) {
            return false;
        }
        let mut done = 0;
        while done < bytes {
            let at = offset + done as u64;
            let within = at % PAGE_BYTES;
            let end = bytes.min(done + (PAGE_BYTES - within) as usize);
            each((self.stripe.frame(at / PAGE_BYTES) + within) as usize, done..end);
            done = end;
        }
        true
    }

    /// Copies bytes into the memory and takes them out of the caches: the guest
    /// starts without caches, and must not find these bytes there, in place of its
    /// own, once it turns them on. Returns false if they do not fit.
    pub fn write(self, offset: u64, data: &[u8]) -> bool {
        self.pieces(offset, data.len(), &mut |target, part| {
            let part = &data[part];
            // SAFETY: the target lies in a frame of this VM's memory, which
            // overlaps nothing that Rust knows, in particular not `data`.
            unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), target as *mut u8, part.len()) };
            super::cpu::clean_and_invalidate(target, part.len());
        })
    }

    /// Copies bytes out of the memory, as a device does that is coherent with the caches. Each byte is read once. Returns
    /// false if not all of them lie in the memory.
    pub fn load(self, offset: u64, data: &mut [u8]) -> bool {
        let within = self.pieces(offset, data.len(), &mut |source, part| {
            let part = &mut data[part];
            // SAFETY: the source lies in a frame of this VM's memory, which overlaps nothing that Rust knows.
            unsafe {
                core::ptr::copy_nonoverlapping(source as *const u8, part.as_mut_ptr(), part.len())
            };
        });
        // The guest may change its memory at any time: nothing is read there again in place of `data`.
        compiler_fence(SeqCst);
        within
    }

    /// Copies bytes into the memory, as a device does that is coherent with the caches. Returns false if they do not fit.
    pub fn store(self, offset: u64, data: &[u8]) -> bool {
        self.pieces(offset, data.len(), &mut |target, part| {
            let part = &data[part];
            // SAFETY: as in `write`.
            unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), target as *mut u8, part.len()) };
        })
    }

    /// The 16 bits at an even offset, read at once.
    pub fn load_u16(self, offset: u64) -> Option<u16> {
        let address = self.address_of_u16(offset)?;
        // SAFETY: it lies in a frame of this VM's memory, and is aligned.
        Some(u16::from_le(unsafe { (address as *const u16).read_volatile() }))
    }

    /// Stores 16 bits at an even offset, at once. Returns false if they do not fit.
    pub fn store_u16(self, offset: u64, value: u16) -> bool {
        let Some(address) = self.address_of_u16(offset) else { return false };
        // SAFETY: as in `load_u16`.
        unsafe { (address as *mut u16).write_volatile(value.to_le()) };
        true
    }

    fn address_of_u16(self, offset: u64) -> Option<usize> {
        let fits = offset.is_multiple_of(2) && offset < self.bytes;
        let frame = || self.stripe.frame(offset / PAGE_BYTES);
        fits.then(|| (frame() + offset % PAGE_BYTES) as usize)
    }

    /// Fills the memory with zeros, at boot.
    pub fn clear(self) {
        let zeros = [0; 64];
        for offset in (0..self.bytes).step_by(zeros.len()) {
            self.write(offset, &zeros);
        }
    }

    /// Writes back and drops the cached lines of a part of the memory.
    pub fn clean_and_invalidate(self, offset: u64, bytes: u64) {
        let offset = offset.min(self.bytes);
        let bytes = bytes.min(self.bytes - offset);
        self.pieces(offset, bytes as usize, &mut |start, part| {
            super::cpu::clean_and_invalidate(start, part.len());
        });
    }
}
