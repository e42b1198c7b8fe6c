//! The CPU interface of this processor: system registers of a GICv3 (Arm IHI 0069, 12.2), or registers in
//! memory of a GICv2 (Arm IHI 0048, 4.4).

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use super::cpu;
use super::mmio::{GICC, GICD};
use super::stacks::CPUS_MAX;
use super::sysreg::{read_sysreg, write_sysreg};

const GICC_CTLR: usize = 0x0;
const GICC_PMR: usize = 0x4;
const GICC_BPR: usize = 0x8;
const GICC_IAR: usize = 0xc;
const GICC_EOIR: usize = 0x10;
const GICD_SGIR: usize = 0xf00;

static V2: AtomicBool = AtomicBool::new(false);
/// GICv2: for each processor and software-generated interrupt, the sender of the interrupt that it takes.
static SENDERS: [[AtomicU8; 16]; CPUS_MAX] = [const { [const { AtomicU8::new(0) }; 16] }; CPUS_MAX];

/// Finds out which interrupt controller there is.
pub fn detect() {
    // ID_AA64PFR0_EL1.GIC: whether there are system registers.
    V2.store(read_sysreg!("S3_0_C0_C4_0") >> 24 & 0xf == 0, Relaxed);
}

/// Returns true if the interrupt controller is a GICv2.
#[inline(always)]
pub fn is_v2() -> bool {
    V2.load(Relaxed)
}

/// Lets all priorities through and enables the group of all interrupts: 1, of a GICv2 0.
pub fn enable() {
    if is_v2() {
        GICC.write32(GICC_PMR, 0xff);
        GICC.write32(GICC_BPR, 0);
        GICC.write32(GICC_CTLR, 1); // EOI drops priority and deactivates
        return;
    }
    write_sysreg!("S3_0_C12_C12_5", 7); // ICC_SRE_EL1
    cpu::synchronize();
    set_priority_mask(0xff);
    write_sysreg!("S3_0_C12_C12_3", 0); // ICC_BPR1_EL1: all bits count for preemption
    write_sysreg!("S3_0_C12_C12_4", 0); // ICC_CTLR_EL1: EOI drops priority and deactivates
    write_sysreg!("S3_0_C12_C12_7", 1); // ICC_IGRPEN1_EL1
    cpu::synchronize();
}

/// Only interrupts with a lower number of priority than `mask` are signalled (`ICC_PMR_EL1`, `GICC_PMR`).
pub fn set_priority_mask(mask: u8) {
    if is_v2() {
        return GICC.write32(GICC_PMR, mask.into());
    }
    write_sysreg!("S3_0_C4_C6_0", mask.into());
    cpu::synchronize();
}

/// Takes the pending interrupt of highest priority; returns its INTID, or 1023 when there is none
/// (`ICC_IAR1_EL1`, `GICC_IAR`).
#[inline(always)]
pub fn acknowledge() -> u32 {
    if is_v2() {
        return acknowledge_in_memory();
    }
    let intid = read_sysreg!("S3_0_C12_C12_0");
    cpu::synchronize();
    intid as u32 & 0xff_ffff
}

#[cold]
#[inline(never)]
fn acknowledge_in_memory() -> u32 {
    let what = GICC.read32(GICC_IAR);
    cpu::synchronize();
    let (intid, sender) = (what & 0x3ff, (what >> 10 & 7) as u8);
    if let Some(place) = SENDERS[cpu::index()].get(intid as usize) {
        place.store(sender, Relaxed);
    }
    intid
}

/// Ends the handling of `intid` (`ICC_EOIR1_EL1`, `GICC_EOIR`).
pub fn end(intid: u32) {
    if is_v2() {
        let sender = SENDERS[cpu::index()].get(intid as usize);
        let sender = sender.map_or(0, |sender| sender.load(Relaxed));
        return GICC.write32(GICC_EOIR, intid | u32::from(sender) << 10);
    }
    write_sysreg!("S3_0_C12_C12_1", intid.into());
    cpu::synchronize();
}

/// Sends the software-generated interrupt `intid` (0..16) to the processor with this affinity, or to all
/// others.
pub fn send_sgi(intid: u32, affinity: Option<u64>) {
    cpu::synchronize(); // what was written before is visible to who gets the interrupt
    if is_v2() {
        // Bulkhead numbers the interfaces as the processors.
        let target = affinity.map_or(1 << 24, |affinity| 1 << 16 << (affinity & 7));
        return GICD.write32(GICD_SGIR, target | intid);
    }
    let [aff0, aff1, aff2, _, aff3, ..] = affinity.unwrap_or(0).to_le_bytes().map(u64::from);
    let target = match affinity {
        Some(_) => 1 << (aff0 & 0xf) | aff1 << 16 | aff2 << 32 | (aff0 >> 4) << 44 | aff3 << 48,
        None => 1 << 40,
    };
    let value = target | u64::from(intid) << 24;
    write_sysreg!("S3_0_C12_C11_5", value);
    cpu::synchronize();
}
