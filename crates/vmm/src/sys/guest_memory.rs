//! Memory as the crates of rust-vmm see it.

use std::iter;
use std::marker::PhantomData;

use vm_memory::mmap::MmapRegion;
use vm_memory::{GuestAddress, GuestMemoryBackend, GuestRegionMmap};

use super::memory::Memory;
use crate::error::Error;

/// Memory whose first byte has the address 0 in the guest.
#[derive(Debug)]
pub struct View<'m> {
    // Nobody gets this but as a reference that lives no longer than the view: there is no copy of it.
    region: GuestRegionMmap,
    memory: PhantomData<&'m Memory>,
}

impl<'m> View<'m> {
    /// Returns a view of memory.
    pub fn of(memory: &'m Memory) -> Result<Self, Error> {
        let none = || Error::Kernel("its RAM cannot be written");
        let (start, bytes) = (memory.address() as *mut u8, memory.bytes() as usize);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: this is the whole mapping, which `memory` keeps for as long as the view lives, and the region does not unmap
        // what it has not mapped. As `Memory` does, the region makes no references to the bytes, which guests may change.
        let region = unsafe { MmapRegion::build_raw(start, bytes, access, libc::MAP_SHARED) };
        let region = region.ok().and_then(|region| GuestRegionMmap::new(region, GuestAddress(0)));
        Ok(Self { region: region.ok_or_else(none)?, memory: PhantomData })
    }
}

impl GuestMemoryBackend for View<'_> {
    type R = GuestRegionMmap;

    fn iter(&self) -> impl Iterator<Item = &Self::R> {
        iter::once(&self.region)
    }
}
