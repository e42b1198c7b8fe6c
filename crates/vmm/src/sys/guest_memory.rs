//! Memory as the crates of rust-vmm see it.

use vm_memory::mmap::MmapRegion;
use vm_memory::{GuestAddress, GuestMemoryMmap, GuestRegionMmap};

use super::memory::Memory;
use crate::error::Error;

/// Lets `act` see memory whose first byte has the address 0 in the guest.
pub fn with<T>(
    memory: &Memory,
    act: impl FnOnce(&GuestMemoryMmap) -> Result<T, Error>,
) -> Result<T, Error> {
    let none = || Error::Kernel("its RAM cannot be written");
    let (start, bytes) = (memory.address() as *mut u8, memory.bytes() as usize);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: this is the whole mapping, which `memory` keeps until the end of this function, and with it the region and all
    // that `act` sees: it gets a reference, and the region does not unmap what it has not mapped. As `Memory` does, the
    // region makes no references to the bytes, which guests may change.
    let region = unsafe { MmapRegion::build_raw(start, bytes, access, libc::MAP_SHARED) };
    let region = region.ok().and_then(|region| GuestRegionMmap::new(region, GuestAddress(0)));
    let regions = vec![region.ok_or_else(none)?];
    act(&GuestMemoryMmap::from_regions(regions).map_err(|_| none())?)
}
