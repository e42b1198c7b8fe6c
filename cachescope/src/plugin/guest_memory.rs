//! A block of the guest's memory that the plugin reads and writes too.

use std::ffi::c_void;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use bulkhead_cachescope_model::COUNTER_BYTES;

use super::symbol::needed;

/// Words of a block.
const WORDS: usize = COUNTER_BYTES as usize / size_of::<u64>();

/// A block in the RAM of the guest, which QEMU never moves.
pub type Block = &'static [AtomicU64; WORDS];

/// QEMU's access to physical memory. Not part of the plugin interface, but exported by
/// QEMU's binary.
pub struct GuestMemory {
    /// `cpu_physical_memory_is_io`: anything that is not memory.
    is_io: extern "C" fn(u64) -> bool,
    /// `cpu_physical_memory_map`: address, length, whether to write.
    map: extern "C" fn(u64, *mut u64, bool) -> *mut c_void,
    /// `cpu_physical_memory_rw`: address, buffer, length, whether to write.
    copy: extern "C" fn(u64, *mut c_void, u64, bool),
}

impl GuestMemory {
    /// Finds what is needed.
    ///
    /// # Errors
    /// The name of what QEMU does not export.
    pub fn find() -> Result<Self, String> {
        let (is_io, map) =
            (needed(c"cpu_physical_memory_is_io")?, needed(c"cpu_physical_memory_map")?);
        let copy = needed(c"cpu_physical_memory_rw")?;
        // SAFETY: QEMU declares `bool cpu_physical_memory_is_io(hwaddr)`, `void
        // *cpu_physical_memory_map(hwaddr, hwaddr *, bool)` and `void
        // cpu_physical_memory_rw(hwaddr, void *, hwaddr, bool)`, hwaddr of 64 bits.
        unsafe {
            Ok(Self {
                is_io: mem::transmute::<*mut c_void, extern "C" fn(u64) -> bool>(is_io),
                map: mem::transmute::<*mut c_void, extern "C" fn(u64, *mut u64, bool) -> *mut c_void>(
                    map,
                ),
                copy: mem::transmute::<*mut c_void, extern "C" fn(u64, *mut c_void, u64, bool)>(
                    copy,
                ),
            })
        }
    }

    /// The block at a physical address, with `magic` in its first word.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn block(&self, address: u64, magic: u64) -> Result<Block, String> {
        if !address.is_multiple_of(COUNTER_BYTES) {
            return Err(format!("expected a multiple of {COUNTER_BYTES}"));
        }
        let mut length = COUNTER_BYTES;
        if (self.is_io)(address) {
            return Err("expected RAM".into());
        }
        let place = (self.map)(address, &raw mut length, true);
        if place.is_null() || length < COUNTER_BYTES {
            return Err("QEMU does not map it".into());
        }
        // SAFETY: QEMU maps that many bytes, aligned as the address is. RAM stays
        // where it is while it is mapped, and that is never undone; guest and plugin run
        // in one thread.
        let block: Block = unsafe { &*place.cast() };
        block[0].store(magic, Ordering::Relaxed);
        // What is not RAM is mapped by a copy, which the guest would not see.
        let mut seen = 0_u64;
        (self.copy)(address, (&raw mut seen).cast(), size_of::<u64>() as u64, false);
        if seen == magic { Ok(block) } else { Err("expected RAM".into()) }
    }
}
