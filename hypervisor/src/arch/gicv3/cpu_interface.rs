//! Physical CPU interface of the executing CPU.

use super::redistributors;
use crate::arch::gic::{GicError, Private};
use crate::arch::mmio::Mmio;

/// ICC_SRE: system registers, FIQ and IRQ bypass off.
const SRE: u64 = 0b111;
/// ICC_SRE_EL2: EL1 may use ICC_SRE_EL1.
const SRE_ENABLE: u64 = 1 << 3;
/// ICC_CTLR_EL1: EOIR only drops the priority.
const EOI_MODE: u64 = 1 << 1;

macro_rules! write_register {
    ($register:literal, $value:expr) => {{
        let value: u64 = $value;
        // SAFETY: the register is one of the interrupt controller's; interrupts
        // are masked at EL2, and what it changes for the guest is its purpose.
        unsafe {
            core::arch::asm!(concat!("msr ", $register, ", {}"), in(reg) value,
                options(nostack, preserves_flags));
        }
    }};
}

macro_rules! read_register {
    ($register:literal) => {{
        let value: u64;
        // SAFETY: reading a register of the interrupt controller touches no memory.
        unsafe {
            core::arch::asm!(concat!("mrs {}, ", $register), out(reg) value,
                options(nostack, preserves_flags));
        }
        value
    }};
}

pub(super) use {read_register, write_register};

/// Makes earlier writes to system registers effective.
#[inline(always)]
fn isb() {
    // SAFETY: a barrier.
    unsafe { core::arch::asm!("isb", options(nostack, preserves_flags)) }
}

/// Sets up redistributor and CPU interface of the executing CPU, which has this affinity: group 1
/// interrupts of every priority reach it, if they are enabled. `region`: all redistributors.
pub fn init_cpu(region: Mmio, affinity: u64) -> Result<Private, GicError> {
    let own = redistributors(region)
        .find(|redistributor| redistributor.affinity() == affinity)
        .ok_or(GicError::NoRedistributor(affinity))?;
    let private = own.init()?;
    write_register!("icc_sre_el2", SRE | SRE_ENABLE);
    isb();
    if read_register!("icc_sre_el2") & 1 == 0 {
        return Err(GicError::NoSystemRegisters);
    }
    clear_active_priorities();
    write_register!("ich_hcr_el2", 0);
    write_register!("icc_pmr_el1", 0xff);
    write_register!("icc_bpr1_el1", 0);
    write_register!("icc_ctlr_el1", EOI_MODE);
    write_register!("icc_igrpen1_el1", 1);
    // Guests of this CPU use the registers too.
    write_register!("icc_sre_el1", SRE);
    isb();
    Ok(private)
}

/// A priority that firmware left active would hold back all that are not higher.
#[inline(never)]
fn clear_active_priorities() {
    // How many registers there are for each group.
    let bits = (read_register!("icc_ctlr_el1") >> 8 & 7) + 1;
    if bits >= 7 {
        write_register!("icc_ap1r3_el1", 0);
        write_register!("icc_ap1r2_el1", 0);
    }
    if bits >= 6 {
        write_register!("icc_ap1r1_el1", 0);
    }
    write_register!("icc_ap1r0_el1", 0);
    if !has_group_0(bits) {
        return;
    }
    if bits >= 7 {
        write_register!("icc_ap0r3_el1", 0);
        write_register!("icc_ap0r2_el1", 0);
    }
    if bits >= 6 {
        write_register!("icc_ap0r1_el1", 0);
    }
    write_register!("icc_ap0r0_el1", 0);
}

/// Returns true if registers of group 0 can be used. If firmware has that group for itself (SCR_EL3.FIQ) they trap to
/// it; then EL2 sees the upper half of the priorities only, shifted, and the lowest of its `bits` is none.
fn has_group_0(bits: u64) -> bool {
    let lowest = 1 << (8 - bits.min(8));
    write_register!("icc_pmr_el1", lowest);
    isb();
    read_register!("icc_pmr_el1") == lowest
}

/// Acknowledges the most urgent interrupt; returns its INTID, from 1020 if there is none.
#[inline(always)]
pub fn acknowledge() -> u32 {
    let intid = read_register!("icc_iar1_el1");
    // SAFETY: a barrier: what follows happens after the acknowledgement (IHI 0069, 4.1.1).
    unsafe { core::arch::asm!("dsb sy", options(nostack, preserves_flags)) }
    intid as u32 & 0xff_ffff
}

/// Sends software-generated interrupt `id` (0 to 15) to the CPU with this affinity.
///
/// Earlier writes to memory are visible to the CPU that takes the interrupt.
#[inline]
pub fn send_sgi(affinity: u64, id: u32) {
    let aff = |n: u32| affinity >> (8 * n) & 0xff;
    let (aff0, aff3) = (aff(0), affinity >> 32 & 0xff);
    let value = aff3 << 48
        | aff0 >> 4 << 44
        | aff(2) << 32
        | (id as u64 & 0xf) << 24
        | aff(1) << 16
        | 1 << (aff0 & 0xf);
    // SAFETY: a barrier.
    unsafe { core::arch::asm!("dsb ishst", options(nostack, preserves_flags)) }
    write_register!("icc_sgi1r_el1", value);
    isb();
}
