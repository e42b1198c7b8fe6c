//! The interrupt controller, GICv3 (Arm IHI 0069) or GICv2 (Arm IHI 0048): distributor and redistributors.
//!
//! INTIDs 0..16 are software-generated (SGI), 16..32 private (PPI), 32..1020 shared (SPI).

use crate::arch::mmio::{GICD, GICR, GICR_BYTES, Registers};
use crate::arch::{CPUS_MAX, cpu, gic_cpu};

const GICD_CTLR: usize = 0x0;
const GICD_TYPER: usize = 0x4;
const GICR_TYPER: usize = 0x8;
const GICR_WAKER: usize = 0x14;
const SGI_BASE: usize = 0x1_0000;

// One bit for each interrupt, in the distributor and in the second page of a redistributor.
const IGROUPR: usize = 0x80;
const ISENABLER: usize = 0x100;
const ICENABLER: usize = 0x180;
const ISPENDR: usize = 0x200;
const ICPENDR: usize = 0x280;
const ISACTIVER: usize = 0x300;
const ICACTIVER: usize = 0x380;
const IPRIORITYR: usize = 0x400;
const ICFGR: usize = 0xc00;
const IROUTER: usize = 0x6000;
// GICv2: a byte for each interrupt, a bit for each processor.
const ITARGETSR: usize = 0x800;
const CPENDSGIR: usize = 0xf10;
const SPENDSGIR: usize = 0xf20;

/// The way in which a device signals an interrupt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trigger {
    /// The device holds the line until it has been served.
    Level,
    /// The device sends a pulse.
    Edge,
}

/// Registers with a bit for each of 32 interrupts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(usize)]
pub enum Bits {
    /// They are of group 1.
    Group = IGROUPR,
    /// Ones enable.
    Enable = ISENABLER,
    /// Ones disable.
    Disable = ICENABLER,
    /// Ones make pending.
    SetPending = ISPENDR,
    /// Ones are pending no longer.
    ClearPending = ICPENDR,
    /// Ones make active.
    SetActive = ISACTIVER,
    /// Ones are active no longer.
    ClearActive = ICACTIVER,
}

/// Turns the distributor on: affinity routing, group 1; of a GICv2 group 0.
pub fn enable_distributor() {
    gic_cpu::detect();
    if gic_cpu::is_v2() {
        return GICD.write32(GICD_CTLR, 1);
    }
    GICD.write32(GICD_CTLR, 0x12);
    while GICD.read32(GICD_CTLR) & 1 << 31 != 0 {}
}

/// Turns on redistributor and CPU interface of this processor; private interrupts get the
/// group that is on, and priority 0xa0.
pub fn enable_cpu() {
    if !gic_cpu::is_v2() {
        let (registers, base) = redistributor();
        registers.write32(base + GICR_WAKER, registers.read32(base + GICR_WAKER) & !2);
        while registers.read32(base + GICR_WAKER) & 4 != 0 {}
        registers.write32(base + SGI_BASE + IGROUPR, !0);
    }
    for intid in 0..32 {
        set_priority(intid, 0xa0);
    }
    gic_cpu::enable();
}

/// The redistributor of this processor: registers, and offset of its first page.
///
/// # Panics
///
/// If the interrupt controller has none for it.
fn redistributor() -> (Registers, usize) {
    let affinity = cpu::affinity();
    let packed = affinity & 0xff_ffff | affinity >> 32 << 24;
    for index in 0..CPUS_MAX {
        let base = index * GICR_BYTES;
        let typer = GICR.read64(base + GICR_TYPER);
        if typer >> 32 == packed {
            return (GICR, base);
        }
        if typer & 1 << 4 != 0 {
            break;
        }
    }
    panic!("no redistributor at {:#x} has affinity {affinity:#x}", GICR.base());
}

/// Registers for `intid` and offset of their common start.
fn bank(intid: u32) -> (Registers, usize) {
    if intid < 32 && !gic_cpu::is_v2() {
        let (registers, base) = redistributor();
        (registers, base + SGI_BASE)
    } else {
        (GICD, 0)
    }
}

fn write_bit(register: usize, intid: u32) {
    let (registers, base) = bank(intid);
    registers.write32(base + register + intid as usize / 32 * 4, 1 << (intid % 32));
    cpu::synchronize();
}

fn read_bit(register: usize, intid: u32) -> bool {
    let (registers, base) = bank(intid);
    registers.read32(base + register + intid as usize / 32 * 4) >> (intid % 32) & 1 == 1
}

/// Names a processor in the byte of `intid`, on a GICv2.
fn write_byte(register: usize, intid: u32, affinity: u64) {
    GICD.write8(register + intid as usize, 1 << (affinity & 7));
    cpu::synchronize();
}

/// A register of INTIDs 0 to 31 of the processor with this index. Of a GICv2 each processor sees its own only.
fn private(processor: usize, what: Bits) -> (Registers, usize) {
    match gic_cpu::is_v2() {
        true => (GICD, what as usize),
        false => (GICR, processor * GICR_BYTES + SGI_BASE + what as usize),
    }
}

/// Writes a register of INTIDs 0 to 31 of the processor with this index, on a GICv3 also of another one.
pub fn write_private(processor: usize, what: Bits, bits: u32) {
    let (registers, at) = private(processor, what);
    registers.write32(at, bits);
}

/// Reads a register of INTIDs 0 to 31 of the processor with this index, on a GICv3 also of another one.
pub fn read_private(processor: usize, what: Bits) -> u32 {
    let (registers, at) = private(processor, what);
    registers.read32(at)
}

/// Writes a register of INTIDs 32 to 63.
pub fn write_shared(what: Bits, bits: u32) {
    GICD.write32(what as usize + 4, bits);
}

/// Writes a register of INTIDs 64 to 95.
pub fn write_shared_more(what: Bits, bits: u32) {
    GICD.write32(what as usize + 8, bits);
}

/// Reads a register of INTIDs 32 to 63.
pub fn read_shared(what: Bits) -> u32 {
    GICD.read32(what as usize + 4)
}

/// Lets the distributor forward interrupts, or not.
pub fn forward(forwards: bool) {
    let on = if gic_cpu::is_v2() { 1 } else { 0x12 };
    GICD.write32(GICD_CTLR, if forwards { on } else { on & 0x10 });
}

/// Most INTIDs that the distributor knows.
pub fn intids() -> u32 {
    ((GICD.read32(GICD_TYPER) & 0x1f) + 1) * 32
}

/// Lets `intid` be delivered; a shared one in the group that is on to the processor it is routed to.
pub fn enable(intid: u32) {
    if intid >= 32 && !gic_cpu::is_v2() {
        let register = IGROUPR + intid as usize / 32 * 4;
        GICD.write32(register, GICD.read32(register) | 1 << (intid % 32));
    }
    write_bit(ISENABLER, intid);
}

/// No longer lets `intid` be delivered.
pub fn disable(intid: u32) {
    write_bit(ICENABLER, intid);
    while GICD.read32(GICD_CTLR) & 1 << 31 != 0 {}
}

/// Makes `intid` pending; of a GICv2 a software-generated one as if this processor had sent it.
pub fn set_pending(intid: u32) {
    if intid < 16 && gic_cpu::is_v2() {
        return write_byte(SPENDSGIR, intid, cpu::affinity());
    }
    write_bit(ISPENDR, intid);
}

/// Takes back that `intid` is pending.
pub fn clear_pending(intid: u32) {
    if intid < 16 && gic_cpu::is_v2() {
        return write_byte(CPENDSGIR, intid, cpu::affinity());
    }
    write_bit(ICPENDR, intid);
}

/// Returns true if `intid` waits to be taken.
pub fn is_pending(intid: u32) -> bool {
    read_bit(ISPENDR, intid)
}

/// Returns true if `intid` has been taken and not ended.
pub fn is_active(intid: u32) -> bool {
    read_bit(ISACTIVER, intid)
}

/// Sets the priority of `intid`; lower numbers go first.
pub fn set_priority(intid: u32, priority: u8) {
    let (registers, base) = bank(intid);
    registers.write8(base + IPRIORITYR + intid as usize, priority);
}

/// Sets how `intid` (from 16) is signalled. Must be disabled meanwhile.
pub fn set_trigger(intid: u32, trigger: Trigger) {
    let (registers, base) = bank(intid);
    let register = base + ICFGR + intid as usize / 16 * 4;
    let bit = 2 << (intid % 16 * 2);
    let others = registers.read32(register) & !bit;
    registers.write32(register, others | if trigger == Trigger::Edge { bit } else { 0 });
}

/// Routes the shared interrupt `intid` to the processor with this affinity.
pub fn route(intid: u32, affinity: u64) {
    if gic_cpu::is_v2() {
        return write_byte(ITARGETSR, intid, affinity);
    }
    GICD.write64(IROUTER + intid as usize * 8, affinity);
    cpu::synchronize();
}

/// Sends the software-generated interrupt `intid` (0..16) to the processor with this affinity.
pub fn send_sgi(intid: u32, affinity: u64) {
    gic_cpu::send_sgi(intid, Some(affinity));
}

/// Sends the software-generated interrupt `intid` (0..16) to all processors but this one.
pub fn send_sgi_to_others(intid: u32) {
    gic_cpu::send_sgi(intid, None);
}
