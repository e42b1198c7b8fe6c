//! Physical CPU interface of the executing CPU.

use alloc::boxed::Box;

use super::virtual_interface;
use crate::arch::gic::{GicError, Private, interface};
use crate::arch::mmio::{Block, Mmio};
use crate::arch::percpu::StaticRef;

// Of the distributor.
const ITARGETSR: usize = 0x0800;
const SGIR: usize = 0x0f00;
const DISTRIBUTOR_BYTES: usize = SGIR + 4;

const CTLR: usize = 0x0000;
const PMR: usize = 0x0004;
const BPR: usize = 0x0008;
const IAR: usize = 0x000c;
const EOIR: usize = 0x0010;
const APR: usize = 0x00d0;
const NSAPR: usize = 0x00e0;
/// Active priorities registers; those that are not there ignore writes.
const ACTIVE_WORDS: usize = 4;
const DIR: usize = 0x1000;
const BYTES: usize = DIR + 4;

/// GICC_CTLR: the group of all interrupts.
const ENABLE: u32 = 1 << 0;
/// GICC_CTLR: EOIR only drops the priority.
const EOI_MODE: u32 = 1 << 9;

/// The field of GICC_IAR that has the INTID. Above it is the CPU that sent an SGI.
const INTID: u32 = 0x3ff;
/// There is no interrupt.
const NONE: u32 = 1023;
/// INTIDs below are those of SGIs.
const SGIS: u32 = 16;

/// Registers, at the same addresses for all CPUs.
struct Interface {
    distributor: Block<DISTRIBUTOR_BYTES>,
    cpu: Block<BYTES>,
}

static INTERFACE: StaticRef<Interface> = StaticRef::empty();

/// Sets up the part of the controller that belongs to the executing CPU, which has this affinity: interrupts of every
/// priority reach it, if they are enabled. Private ones are disabled. `control`: GICH.
pub fn init_cpu(
    distributor: Mmio,
    cpu: Mmio,
    control: Mmio,
    affinity: u64,
) -> Result<Private, GicError> {
    let registers = |(): ()| {
        let private = Private::new(distributor.block(0)?, distributor.block(0)?);
        virtual_interface::init(control.block(0)?);
        Some((private, Interface { distributor: distributor.block(0)?, cpu: cpu.block(0)? }))
    };
    let (private, own) = registers(()).ok_or(GicError::Frames)?;
    // Each of these registers names the CPU that reads it, in every byte; one that is alone reads zero.
    let mask = (0..8).find_map(|word| match own.distributor.read32(ITARGETSR + 4 * word) & 0xff {
        0 => None,
        mask => Some(mask),
    });
    if let Some(mask) = mask
        && mask != u32::from(interface(affinity))
    {
        return Err(GicError::Interface(affinity, mask.into()));
    }
    private.init(0, 0)?;
    own.cpu.write32(CTLR, 0);
    // A priority that firmware left active would hold back all that are not higher.
    for word in 0..ACTIVE_WORDS {
        own.cpu.write32(APR + 4 * word, 0);
        own.cpu.write32(NSAPR + 4 * word, 0);
    }
    own.cpu.write32(PMR, 0xff);
    own.cpu.write32(BPR, 0);
    own.cpu.write32(CTLR, ENABLE | EOI_MODE);
    // The same for all CPUs.
    if INTERFACE.get().is_none() {
        INTERFACE.set(Some(Box::leak(Box::new(own))));
    }
    Ok(private)
}

/// Acknowledges the most urgent interrupt; returns its INTID, from 1020 if there is none.
///
/// An SGI is ended and deactivated at once, because that takes its sender too: when it comes again
/// meanwhile, it waits like any other interrupt.
#[inline(never)]
pub fn acknowledge() -> u32 {
    let Some(own) = INTERFACE.own() else { return NONE };
    let what = own.cpu.read32(IAR);
    // SAFETY: a barrier: what follows happens after the acknowledgement, and sees what the
    // sender of an SGI had written before.
    unsafe { core::arch::asm!("dsb sy", options(nostack, preserves_flags)) }
    let intid = what & INTID;
    if intid < SGIS {
        own.cpu.write32(EOIR, what);
        own.cpu.write32(DIR, what);
    }
    intid
}

/// Drops the priority of an acknowledged interrupt: others can fire again.
#[inline(never)]
pub fn end(intid: u32) {
    if let Some(own) = INTERFACE.own().filter(|_| intid >= SGIS) {
        own.cpu.write32(EOIR, intid);
    }
}

/// Deactivates an ended interrupt: it can fire again.
#[inline(never)]
pub fn deactivate(intid: u32) {
    if let Some(own) = INTERFACE.own().filter(|_| intid >= SGIS) {
        own.cpu.write32(DIR, intid);
    }
}

/// Sends software-generated interrupt `id` (0 to 15) to the CPU with this affinity.
///
/// Earlier writes to memory are visible to the CPU that takes the interrupt.
#[inline(never)]
pub fn send_sgi(affinity: u64, id: u32) {
    let Some(own) = INTERFACE.own() else { return };
    // SAFETY: a barrier.
    unsafe { core::arch::asm!("dsb ishst", options(nostack, preserves_flags)) }
    own.distributor.write32(SGIR, u32::from(interface(affinity)) << 16 | id & 0xf);
}
