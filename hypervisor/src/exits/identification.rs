//! Identification registers as a guest sees them: those of the CPU, as far as [`features`] lists them.

use super::sysreg::identification_fields;
use crate::arch::regs;
use crate::features;

/// Value of an identification register; `None` if there is no such register.
pub fn read(encoding: u64) -> Option<u64> {
    let (crm, op2) = identification_fields(encoding)?;
    matches!(crm, 1..=7).then(|| features::most(crm, op2).of(of_cpu(crm, op2)))
}

/// Returns the value of an identification register of the CPU, where something of it is listed.
fn of_cpu(crm: u64, op2: u64) -> u64 {
    match (crm, op2) {
        (4, 0) => regs::id_aa64pfr0_el1::read(),
        (4, 1) => regs::id_aa64pfr1_el1::read(),
        (5, 0) => regs::id_aa64dfr0_el1::read(),
        (6, 0) => regs::id_aa64isar0_el1::read(),
        (6, 1) => regs::id_aa64isar1_el1::read(),
        (6, 2) => regs::id_aa64isar2_el1::read(),
        (7, 0) => regs::id_aa64mmfr0_el1::read(),
        (7, 1) => regs::id_aa64mmfr1_el1::read(),
        (7, 2) => regs::id_aa64mmfr2_el1::read(),
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
        _ => 0,
    }
}
