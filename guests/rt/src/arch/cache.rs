//! The cache registers of this processor; [`crate::cache`] says what they mean.

use core::arch::asm;

use super::sysreg::{read_sysreg, write_sysreg};

/// CLIDR_EL1: which caches there are.
pub fn clidr() -> u64 {
    read_sysreg!("clidr_el1")
}

/// CTR_EL0: the shortest lines.
pub fn ctr() -> u64 {
    read_sysreg!("ctr_el0")
}

/// CSSELR_EL1: the cache that is selected.
pub fn csselr() -> u64 {
    read_sysreg!("csselr_el1")
}

/// Selects a cache.
pub fn select(csselr: u64) {
    write_sysreg!("csselr_el1", csselr);
    // SAFETY: a barrier does not change memory.
    unsafe { asm!("isb", options(nostack, preserves_flags)) }
}

/// CCSIDR_EL1: the shape of the selected cache.
pub fn ccsidr() -> u64 {
    read_sysreg!("ccsidr_el1")
}

/// Returns true if CCSIDR_EL1 has its 64-bit format.
pub fn has_ccidx() -> bool {
    read_sysreg!("id_aa64mmfr2_el1") >> 20 & 0xf == 1
}

/// Ticks of the virtual counter that one instruction takes between two reads of it.
macro_rules! ticks {
    ($instruction:literal $($operand:tt)*) => {{
        let (before, after): (u64, u64);
        // SAFETY: the instruction is a `NOP`, or reads a register that describes a cache.
        unsafe {
            asm!("isb", "mrs {before}, cntvct_el0", $instruction, "isb", "mrs {after}, cntvct_el0",
                before = out(reg) before, after = out(reg) after $($operand)*,
                options(nostack, preserves_flags));
        }
        after - before
    }};
}

/// Ticks that a read of CCSIDR_EL1 takes beyond those of a `NOP`: the work of a hypervisor.
pub fn ccsidr_ticks() -> u64 {
    let nop = ticks!("nop");
    ticks!("mrs {value}, ccsidr_el1", value = out(reg) _).saturating_sub(nop)
}
