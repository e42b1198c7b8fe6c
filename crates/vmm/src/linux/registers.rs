//! The state with which the VCPU starts in the kernel: 64-bit mode, as the kernel's `Documentation/arch/x86/boot.rst` asks for.
//!
//! The tables lie in the first pages of RAM. The kernel makes its own ones, and then this memory is free.

use kvm_bindings::{kvm_regs, kvm_sregs};

use super::boot::ENTRY;
use crate::segments;
use crate::sys::memory::Memory;

const GDT: u64 = 0x500;
/// The page with the parameters of the kernel.
pub const PARAMETERS: u64 = 0x7000;
const PML4: u64 = 0x9000;
const PDPT: u64 = 0xa000;
/// A page directory for each GiB.
const DIRECTORIES: u64 = 0xb000;
const GIBS: u64 = abi::kvm::RAM_MAX.div_ceil(1 << 30);
/// The end of all tables.
pub const TABLES_END: u64 = DIRECTORIES + GIBS * 0x1000;

const CODE_SELECTOR: u16 = 0x10;
const DATA_SELECTOR: u16 = 0x18;
const TSS_SELECTOR: u16 = 0x20;

/// Writes the tables, with which virtual addresses are physical ones, into RAM.
pub fn write_tables(ram: &Memory) {
    ram.set_word(GDT + u64::from(CODE_SELECTOR), 0x00af_9b00_0000_ffff);
    ram.set_word(GDT + u64::from(DATA_SELECTOR), 0x00cf_9300_0000_ffff);
    ram.set_word(GDT + u64::from(TSS_SELECTOR), 0x0000_8b00_0000_0067);
    ram.set_word(PML4, PDPT | 3);
    for gib in 0..GIBS {
        ram.set_word(PDPT + gib * 8, (DIRECTORIES + gib * 0x1000) | 3);
    }
    for number in 0..GIBS * 512 {
        // Present, writable, large.
        ram.set_word(DIRECTORIES + number * 8, number << 21 | 0x83);
    }
}

/// Sets segments, tables, and the mode.
pub fn special_registers(registers: &mut kvm_sregs) {
    segments::set(registers, [CODE_SELECTOR, DATA_SELECTOR], (TSS_SELECTOR, 0));
    (registers.gdt.base, registers.gdt.limit) = (GDT, TSS_SELECTOR + 15);
    (registers.idt.base, registers.idt.limit) = (0, 0);
    registers.cr3 = PML4;
    // Physical address extension.
    registers.cr4 = 1 << 5;
    // Paging, write protection, extension type, protection.
    registers.cr0 = 0x8001_0011;
    // Without interrupt controller.
    registers.apic_base = 0;
    // Long mode, enabled and active.
    registers.efer = 0x500;
}

/// Sets these registers, and returns the others, for the first instruction of a kernel.
pub fn registers(special: &mut kvm_sregs) -> kvm_regs {
    special_registers(special);
    kvm_regs { rip: ENTRY, rsi: PARAMETERS, rflags: 2, ..kvm_regs::default() }
}
