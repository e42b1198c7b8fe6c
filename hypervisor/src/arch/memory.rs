//! Physical memory that the plan gave to the hypervisor or to VMs, as bytes.

/// Memory that is read only and shared for ever: the payload.
///
/// # Safety
/// The range is mapped, and nothing writes to it from now on.
pub unsafe fn constants(start: usize, bytes: usize) -> &'static [u8] {
    // SAFETY: the caller vouches for the range.
    unsafe { core::slice::from_raw_parts(start as *const u8, bytes) }
}

/// A range of physical memory that belongs to a VM.
#[derive(Clone, Copy, Debug)]
pub struct GuestMemory {
    start: u64,
    bytes: u64,
}

impl GuestMemory {
    /// Memory of a VM at a physical address.
    ///
    /// # Safety
    /// The range is RAM, is mapped as data in the final tables of EL2, and holds
    /// nothing of the hypervisor: whatever is written there hurts that VM alone.
    pub unsafe fn new(start: u64, bytes: u64) -> Self {
        Self { start, bytes }
    }

    /// First physical address.
    pub fn start(self) -> u64 {
        self.start
    }

    /// Size in bytes.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Copies bytes into the memory and takes them out of the caches: the guest
    /// starts without caches, and must not find these bytes there, in place of its
    /// own, once it turns them on. `false` if they do not fit.
    pub fn write(self, offset: u64, data: &[u8]) -> bool {
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > self.bytes) {
            return false;
        }
        let target = self.start + offset;
        // SAFETY: the target lies in this VM's memory (checked above), which
        // overlaps nothing that Rust knows, in particular not `data`.
        unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), target as *mut u8, data.len()) };
        super::cpu::clean_and_invalidate(target as usize, data.len());
        true
    }

    /// Copies bytes out of the memory. `false` if the range does not lie in it.
    pub fn read(self, offset: u64, data: &mut [u8]) -> bool {
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > self.bytes) {
            return false;
        }
        let source = (self.start + offset) as *const u8;
        for (index, byte) in data.iter_mut().enumerate() {
            // SAFETY: the source lies in this VM's memory (checked above); the
            // guest may change it meanwhile, so each byte is read once.
            *byte = unsafe { source.add(index).read_volatile() };
        }
        true
    }

    /// Writes back and drops the cached lines of a part of the memory.
    pub fn clean_and_invalidate(self, offset: u64, bytes: u64) {
        let offset = offset.min(self.bytes);
        let bytes = bytes.min(self.bytes - offset);
        super::cpu::clean_and_invalidate((self.start + offset) as usize, bytes as usize);
    }
}
