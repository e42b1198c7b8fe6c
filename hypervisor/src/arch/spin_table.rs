//! Starting CPUs that wait in a spin table (Devicetree Specification, 3.8.1: `cpu-release-addr`): each polls a
//! word of memory, and jumps to the address that it finds there.

use core::arch::asm;

use super::boot::{SecondaryEntry, secondary_start};
use super::cpu;
use super::mmio::Mmio;

/// The code that such a CPU executes first, with the MMU off: the CPU gets no argument, so that the code says itself
/// where to find one.
///
/// It never crosses the end of a page: with colours, the next page of the heap lies somewhere else.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Released {
    code: [u32; 4],
    /// The address to which the code jumps.
    target: u64,
    /// The code puts the address of this into x0.
    pub entry: SecondaryEntry,
}

/// `adr x0, entry`; `ldr x1, target`; `br x1`.
const CODE: [u32; 4] = [0x1000_00c0, 0x5800_0061, 0xd61f_0020, 0];
const _: () = assert!(core::mem::offset_of!(Released, entry) == 24);
const _: () = assert!(core::mem::offset_of!(Released, target) == 16);
const _: () = assert!(align_of::<Released>() >= size_of::<Released>());

impl Released {
    /// Starts a CPU at [`secondary_start`].
    pub fn new(entry: SecondaryEntry) -> Self {
        Self { code: CODE, target: secondary_start as *const () as u64, entry }
    }

    /// Lets the CPU go that waits for this word, which is mapped as a device's register.
    pub fn release(&'static self, word: Mmio) {
        let address = core::ptr::from_ref(self) as usize;
        cpu::clean_and_invalidate(address, size_of::<Self>());
        if let Some(physical) = cpu::physical(address) {
            word.write64(0, physical);
        }
        // SAFETY: a barrier, and a hint to CPUs that wait.
        unsafe { asm!("dsb sy", "ic ialluis", "dsb sy", "sev", options(nostack, preserves_flags)) }
    }
}
