//! The state with which a VCPU executes at CPL 3 in long mode: descriptor tables, page tables, registers.
//!
//! All tables lie below RAM in memory that the guest cannot reach, because it is mapped for CPL 0 only, and nothing executes
//! there: an exception in the guest has no handler and ends the VM.

use abi::guest::RAM;
use abi::kvm::RAM_MAX;
use kvm_bindings::{kvm_regs, kvm_sregs};

use crate::segments;

/// Bytes of the memory with the tables, from address 0.
pub const TABLES_BYTES: u64 = 64 << 10;

const GDT: u64 = 0x500;
const TSS: u64 = 0x800;
const PML4: u64 = 0x1000;
const PDPT: u64 = 0x2000;
/// A page directory for each GiB of RAM.
const DIRECTORIES: u64 = 0x3000;

const GIB: u64 = 1 << 30;
const LARGE_PAGE: u64 = 2 << 20;

pub(crate) const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
pub(crate) const USER: u64 = 1 << 2;
pub(crate) const LARGE: u64 = 1 << 7;
const FOR_GUEST: u64 = PRESENT | WRITABLE | USER;

const TSS_SELECTOR: u16 = 0x18;
const CODE_SELECTOR: u16 = 0x20 | 3;
const DATA_SELECTOR: u16 = 0x28 | 3;

/// Returns the words of the tables, each with its address, for RAM of this size.
pub fn tables(ram_bytes: u64) -> Vec<(u64, u64)> {
    let mut words = vec![
        (GDT + 0x08, 0x00af_9b00_0000_ffff),
        (GDT + 0x10, 0x00cf_9300_0000_ffff),
        (GDT + u64::from(TSS_SELECTOR), 0x0000_8900_0800_0067),
        (GDT + u64::from(CODE_SELECTOR & !3), 0x00af_fb00_0000_ffff),
        (GDT + u64::from(DATA_SELECTOR & !3), 0x00cf_f300_0000_ffff),
        (PML4, PDPT | FOR_GUEST),
    ];
    // The tables themselves, for CPL 0.
    let low = DIRECTORIES + RAM_MAX.div_ceil(GIB) * 0x1000;
    words.extend([(PDPT, low | PRESENT | WRITABLE), (low, LARGE | PRESENT | WRITABLE)]);
    for number in 0..ram_bytes.div_ceil(LARGE_PAGE) {
        let address = RAM + number * LARGE_PAGE;
        let directory = DIRECTORIES + number / 512 * 0x1000;
        words.push((directory + number % 512 * 8, address | LARGE | FOR_GUEST));
        if number % 512 == 0 {
            words.push((PDPT + address / GIB * 8, directory | FOR_GUEST));
        }
    }
    words
}

/// Changes the special registers to those of a program at CPL 3.
pub fn special_registers(registers: &mut kvm_sregs) {
    segments::set(registers, [CODE_SELECTOR, DATA_SELECTOR], (TSS_SELECTOR, TSS));
    (registers.gdt.base, registers.gdt.limit) = (GDT, 0x2f);
    (registers.idt.base, registers.idt.limit) = (0, 0);
    registers.cr3 = PML4;
    // Physical address extension, SSE.
    registers.cr4 = 1 << 5 | 1 << 9 | 1 << 10;
    // Paging, alignment mask, write protection, numeric errors, extension type, monitor, protection.
    registers.cr0 = 0x8005_0033;
    // Long mode, enabled and active.
    registers.efer = 0x500;
}

/// Returns the registers with which a VCPU starts: the address of its block is its argument.
pub fn registers(entry: u64, vcpu: usize) -> kvm_regs {
    kvm_regs {
        rip: entry,
        // As behind a call.
        rsp: abi::kvm::stack_end(vcpu) - 8,
        // I/O privilege level 3: the guest may use ports, all of which end its execution.
        rflags: 0x3002,
        rdi: abi::kvm::block(vcpu),
        ..kvm_regs::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Follows the tables; returns the physical address, and whether CPL 3 may use it.
    fn walk(words: &HashMap<u64, u64>, address: u64) -> Option<(u64, bool)> {
        let entry = |table: u64, shift: u32| words.get(&(table + (address >> shift & 0x1ff) * 8));
        let (mut table, mut user) = (PML4, true);
        for shift in [39, 30, 21] {
            let entry = *entry(table, shift)?;
            user &= entry & USER != 0;
            table = entry & !0xfff;
        }
        Some((table | address & (LARGE_PAGE - 1), user))
    }

    #[test]
    fn the_guest_reaches_its_ram_and_nothing_else() {
        for bytes in [LARGE_PAGE, 16 << 20, GIB + LARGE_PAGE, RAM_MAX] {
            let words: HashMap<u64, u64> = tables(bytes).into_iter().collect();
            assert!(words.keys().all(|address| address + 8 <= TABLES_BYTES));
            for address in [RAM, RAM + 0x1234, RAM + bytes / 2, RAM + bytes - 1] {
                assert_eq!(walk(&words, address), Some((address, true)), "{address:#x}");
            }
            for address in [RAM - 1, RAM + bytes.next_multiple_of(LARGE_PAGE), 1 << 40, !0] {
                assert_eq!(walk(&words, address), None, "{address:#x}");
            }
            assert_eq!(walk(&words, PML4), Some((PML4, false)));
        }
    }
}
