//! The virtual counter and the virtual timer of this processor.

use super::cpu;
use super::sysreg::{read_sysreg, write_sysreg};

/// Ticks of the virtual counter in one second.
pub fn frequency() -> u64 {
    read_sysreg!("cntfrq_el0")
}

/// The virtual counter now, in ticks.
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: `isb` keeps the counter from being read early; it does not change memory.
    unsafe { core::arch::asm!("isb", options(nostack, preserves_flags)) }
    read_sysreg!("cntvct_el0")
}

/// Lets the virtual timer interrupt (PPI 27) when the counter reaches `deadline`.
pub fn set_deadline(deadline: u64) {
    write_sysreg!("cntv_cval_el0", deadline);
    write_sysreg!("cntv_ctl_el0", 1);
    cpu::synchronize();
}

/// Stops the virtual timer.
pub fn stop() {
    write_sysreg!("cntv_ctl_el0", 0);
    cpu::synchronize();
}
