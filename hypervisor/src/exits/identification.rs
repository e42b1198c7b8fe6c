//! Identification registers as a guest sees them: those of the CPU, without what
//! the hypervisor does not give to guests.

use super::sysreg::identification_fields;
use crate::arch::regs;

/// A field of four bits at this position.
const fn field(position: u32) -> u64 {
    0xf << position
}

/// Processor features that are hidden: error records, SVE, MPAM, AMU; GIC stays.
const PFR0_HIDDEN: u64 = field(4) | field(28) | field(32) | field(40) | field(44);
/// EL1 is AArch64 only.
const PFR0_EL1_AARCH64: u64 = 1 << 4;
/// Processor features that are hidden: MTE, error record and MPAM fractions, SME,
/// non-maskable interrupts, guarded control stacks.
const PFR1_HIDDEN: u64 = field(8) | field(12) | field(16) | field(24) | field(36) | field(44);
/// Debug features that are hidden: trace, PMU, SPE, trace filter, trace buffer, BRBE.
const DFR0_HIDDEN: u64 = field(4) | field(8) | field(32) | field(40) | field(44) | field(52);

/// Instruction set features that are hidden, because HCRX_EL2 does not allow them:
/// 64-byte accesses, memory copies.
const ISAR1_HIDDEN: u64 = field(60);
const ISAR2_HIDDEN: u64 = field(16);
/// Memory model features that are hidden: ordering regions.
const MMFR1_HIDDEN: u64 = field(16);

/// Value of an identification register; `None` if there is no such register.
pub fn read(encoding: u64) -> Option<u64> {
    let (crm, op2) = identification_fields(encoding)?;
    Some(match (crm, op2) {
        (4, 0) => regs::id_aa64pfr0_el1::read() & !PFR0_HIDDEN | PFR0_EL1_AARCH64,
        (4, 1) => regs::id_aa64pfr1_el1::read() & !PFR1_HIDDEN,
        (5, 0) => regs::id_aa64dfr0_el1::read() & !DFR0_HIDDEN,
        (6, 0) => regs::id_aa64isar0_el1::read(),
        (6, 1) => regs::id_aa64isar1_el1::read() & !ISAR1_HIDDEN,
        (6, 2) => regs::id_aa64isar2_el1::read() & !ISAR2_HIDDEN,
        (7, 0) => regs::id_aa64mmfr0_el1::read(),
        (7, 1) => regs::id_aa64mmfr1_el1::read() & !MMFR1_HIDDEN,
        (7, 2) => regs::id_aa64mmfr2_el1::read(),
        // AArch32 at EL0, without its debug features.
        (1, 0) => regs::id_pfr0_el1::read(),
        (1, 1) => regs::id_pfr1_el1::read(),
        (1, 4) => regs::id_mmfr0_el1::read(),
        (1, 5) => regs::id_mmfr1_el1::read(),
        (1, 6) => regs::id_mmfr2_el1::read(),
        (1, 7) => regs::id_mmfr3_el1::read(),
        (2, 0) => regs::id_isar0_el1::read(),
        (2, 1) => regs::id_isar1_el1::read(),
        (2, 2) => regs::id_isar2_el1::read(),
        (2, 3) => regs::id_isar3_el1::read(),
        (2, 4) => regs::id_isar4_el1::read(),
        (2, 5) => regs::id_isar5_el1::read(),
        (2, 6) => regs::id_mmfr4_el1::read(),
        (2, 7) => regs::id_isar6_el1::read(),
        (3, 0) => regs::mvfr0_el1::read(),
        (3, 1) => regs::mvfr1_el1::read(),
        (3, 2) => regs::mvfr2_el1::read(),
        // The rest is reserved, or not offered: it reads as zero.
        (1..=7, _) => 0,
        _ => return None,
    })
}
