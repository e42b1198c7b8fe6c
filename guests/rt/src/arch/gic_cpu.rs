//! The CPU interface of GICv3: system registers of this processor (Arm IHI 0069, 12.2).

use super::cpu;
use super::sysreg::{read_sysreg, write_sysreg};

/// Uses system registers, lets all priorities through and enables group 1.
pub fn enable() {
    write_sysreg!("S3_0_C12_C12_5", 7); // ICC_SRE_EL1
    cpu::synchronize();
    set_priority_mask(0xff);
    write_sysreg!("S3_0_C12_C12_3", 0); // ICC_BPR1_EL1: all bits count for preemption
    write_sysreg!("S3_0_C12_C12_4", 0); // ICC_CTLR_EL1: EOI drops priority and deactivates
    write_sysreg!("S3_0_C12_C12_7", 1); // ICC_IGRPEN1_EL1
    cpu::synchronize();
}

/// Only interrupts with a lower number of priority than `mask` are signalled (`ICC_PMR_EL1`).
pub fn set_priority_mask(mask: u8) {
    write_sysreg!("S3_0_C4_C6_0", mask.into());
    cpu::synchronize();
}

/// Takes the pending interrupt of highest priority; returns its INTID, or 1023 when there is none
/// (`ICC_IAR1_EL1`).
pub fn acknowledge() -> u32 {
    let intid = read_sysreg!("S3_0_C12_C12_0");
    cpu::synchronize();
    intid as u32 & 0xff_ffff
}

/// Ends the handling of `intid` (`ICC_EOIR1_EL1`).
pub fn end(intid: u32) {
    write_sysreg!("S3_0_C12_C12_1", intid.into());
    cpu::synchronize();
}

/// Writes `ICC_SGI1R_EL1`, which sends a software-generated interrupt.
pub fn send_sgi(value: u64) {
    cpu::synchronize(); // what was written before is visible to who gets the interrupt
    write_sysreg!("S3_0_C12_C11_5", value);
    cpu::synchronize();
}
