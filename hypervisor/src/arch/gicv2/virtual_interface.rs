//! Virtual CPU interface: GICH_* registers of the executing CPU.

use alloc::boxed::Box;
use core::sync::atomic::Ordering::Relaxed;

use super::list_register::{decode, encode};
use crate::arch::gic::SavedLists;
use crate::arch::mmio::Block;
use crate::arch::percpu::StaticRef;
use crate::vdev::gic::{LISTS_MAX, ListRegister};

const HCR: usize = 0x00;
const VTR: usize = 0x04;
const VMCR: usize = 0x08;
const MISR: usize = 0x10;
const ELRSR: usize = 0x30;
const APR: usize = 0xf0;
const LR: usize = 0x100;
const BYTES: usize = LR + 4 * LISTS_MAX;

/// GICH_VMCR after reset: groups disabled, all priorities masked.
pub const VMCR_RESET: u64 = 0;

/// Registers, at the same addresses for all CPUs.
static CONTROL: StaticRef<Block<BYTES>> = StaticRef::empty();

fn read(register: usize) -> u32 {
    CONTROL.own().map_or(0, |control| control.read32(register))
}

fn write(register: usize, value: u32) {
    if let Some(control) = CONTROL.own() {
        control.write32(register, value);
    }
}

/// Turns the virtual CPU interface of the executing CPU off and empties it.
pub fn init(control: Block<BYTES>) {
    if CONTROL.get().is_none() {
        CONTROL.set(Some(Box::leak(Box::new(control))));
    }
    write(HCR, 0);
    write(VMCR, VMCR_RESET as u32);
    write(APR, 0);
    for n in 0..count() {
        write_list(n, 0);
    }
}

/// Number of list registers.
pub fn count() -> usize {
    ((read(VTR) & 0x3f) as usize + 1).min(LISTS_MAX)
}

/// Set of list registers that are empty.
pub fn empty() -> u32 {
    read(ELRSR)
}

/// Reasons for a maintenance interrupt.
pub fn misr() -> u32 {
    read(MISR)
}

/// Changes GICH_HCR.
pub fn set_control(value: u64) {
    write(HCR, value as u32);
}

/// Content of list register `n`, with the layout of a GICv3.
pub fn read_list(n: usize) -> u64 {
    decode(read(LR + 4 * (n % LISTS_MAX))).bits()
}

/// Changes list register `n` to this content, with the layout of a GICv3.
#[inline(never)]
pub fn write_list(n: usize, bits: u64) {
    write(LR + 4 * (n % LISTS_MAX), encode(ListRegister::from_bits(bits)));
}

/// Copies all registers to memory. Returns true if a list register is in use.
#[inline(never)]
pub fn save(to: &SavedLists) -> bool {
    to.control.store(read(HCR).into(), Relaxed);
    to.machine.store(read(VMCR).into(), Relaxed);
    to.active[0][0].store(read(APR).into(), Relaxed);
    for (n, list) in to.lists.iter().enumerate().take(count()) {
        list.store(read_list(n), Relaxed);
    }
    u64::from(empty()) != to.all.load(Relaxed)
}

/// Copies them back.
#[inline(never)]
pub fn load(from: &SavedLists) {
    write(HCR, from.control.load(Relaxed) as u32);
    write(VMCR, from.machine.load(Relaxed) as u32);
    write(APR, from.active[0][0].load(Relaxed) as u32);
    for (n, list) in from.lists.iter().enumerate().take(count()) {
        write_list(n, list.load(Relaxed));
    }
    // SAFETY: a barrier: the guest that is entered next finds what has been written.
    unsafe { core::arch::asm!("dsb sy", options(nostack, preserves_flags)) }
}
