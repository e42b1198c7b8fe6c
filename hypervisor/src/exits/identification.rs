//! Identification registers as a guest sees them: those of the CPU, without what
//! the hypervisor does not give to guests.

use super::sysreg::identification_fields;
use crate::arch::regs;

/// A field of four bits at this position.
const fn field(position: u32) -> u64 {
    0xf << position
}

/// Processor features that are hidden: SVE, MPAM, AMU; GIC stays.
const PFR0_HIDDEN: u64 = field(32) | field(40) | field(44);
/// Processor features that are hidden: MTE, MPAM fraction, SME.
const PFR1_HIDDEN: u64 = field(8) | field(16) | field(24);
/// Debug features that are hidden: trace, PMU, SPE, trace filter, trace buffer, BRBE.
const DFR0_HIDDEN: u64 = field(4) | field(8) | field(32) | field(40) | field(44) | field(52);

/// Value of an identification register; `None` if there is no such register.
pub fn read(encoding: u64) -> Option<u64> {
    let (crm, op2) = identification_fields(encoding)?;
    Some(match (crm, op2) {
        (4, 0) => regs::id_aa64pfr0_el1::read() & !PFR0_HIDDEN,
        (4, 1) => regs::id_aa64pfr1_el1::read() & !PFR1_HIDDEN,
        (5, 0) => regs::id_aa64dfr0_el1::read() & !DFR0_HIDDEN,
        (6, 0) => regs::id_aa64isar0_el1::read(),
        (6, 1) => regs::id_aa64isar1_el1::read(),
        (6, 2) => regs::id_aa64isar2_el1::read(),
        (7, 0) => regs::id_aa64mmfr0_el1::read(),
        (7, 1) => regs::id_aa64mmfr1_el1::read(),
        (7, 2) => regs::id_aa64mmfr2_el1::read(),
        // AArch32 is not offered to EL1 and not described for EL0; the rest of
        // the space is reserved: all of it reads as zero.
        (1..=7, _) => 0,
        _ => return None,
    })
}
