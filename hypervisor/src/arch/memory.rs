//! Physical memory that the plan gave to the hypervisor or to VMs, as bytes.

use core::ops::Range;

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

    /// Calls `each` with the address and the position in the range of every piece
    /// of a range that lies in one frame. `false` if the range does not lie in the memory.
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
    /// own, once it turns them on. `false` if they do not fit.
    pub fn write(self, offset: u64, data: &[u8]) -> bool {
        self.pieces(offset, data.len(), &mut |target, part| {
            let part = &data[part];
            // SAFETY: the target lies in a frame of this VM's memory, which
            // overlaps nothing that Rust knows, in particular not `data`.
            unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), target as *mut u8, part.len()) };
            super::cpu::clean_and_invalidate(target, part.len());
        })
    }

    /// Copies bytes out of the memory, also those that a guest wrote with its caches
    /// off. `false` if the range does not lie in it.
    pub fn read(self, offset: u64, data: &mut [u8]) -> bool {
        self.pieces(offset, data.len(), &mut |source, part| {
            super::cpu::clean_and_invalidate(source, part.len());
            for (index, byte) in data[part].iter_mut().enumerate() {
                // SAFETY: the source lies in a frame of this VM's memory; the guest
                // may change it meanwhile, so each byte is read once.
                *byte = unsafe { (source as *const u8).add(index).read_volatile() };
            }
        })
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
