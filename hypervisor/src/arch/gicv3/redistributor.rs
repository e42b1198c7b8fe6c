//! Redistributors: private interrupts of each CPU.

use super::{AFFINITY, GicError, PRIORITY, poll};
use crate::arch::mmio::{Block, Mmio};

const CTLR: usize = 0x0000;
const TYPER: usize = 0x0008;
const WAKER: usize = 0x0014;
/// Offset of the second frame.
const SGI: usize = 0x1_0000;
const IGROUPR0: usize = SGI + 0x0080;
const ISENABLER0: usize = SGI + 0x0100;
const ICENABLER0: usize = SGI + 0x0180;
const ISPENDR0: usize = SGI + 0x0200;
const ICPENDR0: usize = SGI + 0x0280;
const ISACTIVER0: usize = SGI + 0x0300;
const ICACTIVER0: usize = SGI + 0x0380;
const IPRIORITYR: usize = SGI + 0x0400;
const ICFGR1: usize = SGI + 0x0c04;

const WRITE_PENDING: u32 = 1 << 3;
const PROCESSOR_SLEEP: u32 = 1 << 1;
const CHILDREN_ASLEEP: u32 = 1 << 2;
/// GICR_TYPER: has two more frames, for virtual LPIs.
const VIRTUAL_LPIS: u64 = 1 << 1;
/// GICR_TYPER: the last one of its region.
const LAST: u64 = 1 << 4;

/// Bytes of both frames.
const BYTES: usize = 0x2_0000;

/// The redistributor of one CPU. Private interrupts have INTIDs below 32; others
/// are ignored.
#[derive(Clone, Copy, Debug)]
pub struct Redistributor {
    registers: Block<BYTES>,
}

/// All redistributors in a region, up to the one that says it is the last.
pub fn redistributors(region: Mmio) -> impl Iterator<Item = Redistributor> {
    let mut next = Some(0);
    core::iter::from_fn(move || {
        let at = next.take()?;
        let registers = region.block(at)?;
        let typer = registers.read64(TYPER);
        if typer & LAST == 0 {
            next = Some(at + if typer & VIRTUAL_LPIS != 0 { 2 * BYTES } else { BYTES });
        }
        Some(Redistributor { registers })
    })
}

impl Redistributor {
    /// Affinity of its CPU, laid out as in MPIDR.
    pub fn affinity(self) -> u64 {
        let typer = self.registers.read64(TYPER);
        (typer >> 56 << 32 | typer >> 32 & 0xff_ffff) & AFFINITY
    }

    /// Wakes the redistributor, disables all private interrupts, makes them
    /// group 1, neither pending nor active.
    pub fn init(self) -> Result<(), GicError> {
        let registers = self.registers;
        registers.write32(WAKER, registers.read32(WAKER) & !PROCESSOR_SLEEP);
        if !poll(|| registers.read32(WAKER) & CHILDREN_ASLEEP == 0) {
            return Err(GicError::Stuck("GICR_WAKER.ChildrenAsleep"));
        }
        registers.write32(ICENABLER0, u32::MAX);
        self.wait()?;
        registers.write32(IGROUPR0, u32::MAX);
        registers.write32(ICPENDR0, u32::MAX);
        registers.write32(ICACTIVER0, u32::MAX);
        for intid in (0..32).step_by(4) {
            registers.write32(IPRIORITYR + intid, PRIORITY);
        }
        self.wait()
    }

    /// Waits until disabled interrupts do not fire any more.
    #[inline(never)]
    fn wait(self) -> Result<(), GicError> {
        if poll(|| self.registers.read32(CTLR) & WRITE_PENDING == 0) {
            Ok(())
        } else {
            Err(GicError::Stuck("GICR_CTLR.RWP"))
        }
    }

    #[inline(always)]
    fn set(self, register: usize, intid: u32) {
        if intid < 32 {
            self.registers.write32(register, 1 << intid);
        }
    }

    /// Enables or disables an interrupt; a disabled one does not fire any more
    /// when this returns.
    #[inline(always)]
    pub fn set_enabled(self, intid: u32, enabled: bool) {
        self.set(if enabled { ISENABLER0 } else { ICENABLER0 }, intid);
        if !enabled && self.registers.read32(CTLR) & WRITE_PENDING != 0 {
            // If it never settles there is nothing better than to go on.
            let _ = self.wait();
        }
    }

    /// A private interrupt goes before all others, which have [`PRIORITY`].
    pub fn prefer(self, intid: u32) {
        if intid < 32 {
            let register = IPRIORITYR + (intid as usize & !3);
            self.registers.write32(register, PRIORITY & !(0x20 << (intid % 4 * 8)));
        }
    }

    /// Says whether an interrupt from 16 on, which is disabled, is a pulse or a level.
    pub fn set_edge(self, intid: u32, edge: bool) {
        if let Some(place @ 0..16) = intid.checked_sub(16) {
            let bit = 2 << (2 * place);
            let levels = self.registers.read32(ICFGR1) & !bit;
            self.registers.write32(ICFGR1, levels | if edge { bit } else { 0 });
        }
    }

    /// Sets or clears the pending state.
    pub fn set_pending(self, intid: u32, pending: bool) {
        self.set(if pending { ISPENDR0 } else { ICPENDR0 }, intid);
    }

    /// Whether an interrupt is pending.
    pub fn is_pending(self, intid: u32) -> bool {
        intid < 32 && self.registers.read32(ISPENDR0) >> intid & 1 != 0
    }

    /// Sets or clears the active state. An active one does not fire any more when this returns.
    pub fn set_active(self, intid: u32, active: bool) {
        self.set(if active { ISACTIVER0 } else { ICACTIVER0 }, intid);
        if active {
            // Reading the register waits for the write.
            self.registers.read32(ISACTIVER0);
        }
    }

    /// Sets or clears the active state; whether the interrupt was active, if it `may_be`. An
    /// active one does not fire any more when this returns.
    #[inline(always)]
    pub fn exchange_active(self, intid: u32, may_be: bool, active: bool) -> bool {
        let registers = self.registers;
        let bit = 1_u32.checked_shl(intid).unwrap_or(0);
        let was = may_be && registers.read32(ISACTIVER0) & bit != 0;
        if was != active {
            registers.write32(if active { ISACTIVER0 } else { ICACTIVER0 }, bit);
            if active {
                // Reading the register waits for the write.
                registers.read32(ISACTIVER0);
            }
        }
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plain memory in place of the registers of `count` redistributors.
    fn on_memory(count: usize, test: impl FnOnce(Mmio)) {
        let mut memory = vec![0u64; count * BYTES / 8];
        // SAFETY: the memory outlives the block and is reached only through it.
        let region = unsafe { Mmio::new(memory.as_mut_ptr().expose_provenance(), count * BYTES) };
        test(region);
    }

    fn describe(region: Mmio, slot: usize, affinity: u64, flags: u64) {
        let [aff0, aff1, aff2, _, aff3, ..] = affinity.to_le_bytes();
        let typer = u32::from_le_bytes([aff0, aff1, aff2, aff3]);
        region.write64(slot * BYTES + TYPER, u64::from(typer) << 32 | flags);
    }

    #[test]
    fn the_walk_ends_with_the_last_one() {
        on_memory(4, |region| {
            describe(region, 0, 0x0, 0);
            describe(region, 1, 0x12_0034_5678, LAST);
            describe(region, 2, 0x2, 0);
            let found: Vec<_> = redistributors(region).map(Redistributor::affinity).collect();
            assert_eq!(found, [0x0, 0x12_0034_5678]);
        });
    }

    #[test]
    fn the_walk_steps_over_frames_for_virtual_lpis() {
        on_memory(3, |region| {
            describe(region, 0, 0x0, VIRTUAL_LPIS);
            describe(region, 1, 0xbad, LAST);
            describe(region, 2, 0x1, LAST);
            let found: Vec<_> = redistributors(region).map(Redistributor::affinity).collect();
            assert_eq!(found, [0x0, 0x1]);
        });
    }

    #[test]
    fn the_walk_stays_in_the_region() {
        on_memory(2, |region| assert_eq!(redistributors(region).count(), 2));
    }

    #[test]
    fn set_up_wakes_and_disables() {
        on_memory(1, |region| {
            let redistributor = redistributors(region).next().unwrap();
            region.write32(WAKER, PROCESSOR_SLEEP | CHILDREN_ASLEEP);
            assert_eq!(redistributor.init(), Err(GicError::Stuck("GICR_WAKER.ChildrenAsleep")));
            assert_eq!(region.read32(WAKER), CHILDREN_ASLEEP);
            region.write32(WAKER, 0);
            redistributor.init().unwrap();
            assert_eq!(region.read32(IGROUPR0), u32::MAX);
            redistributor.set_enabled(27, true);
            assert_eq!(region.read32(ISENABLER0), 1 << 27);
            redistributor.set_enabled(32, true);
            assert_eq!(region.read32(ISENABLER0), 1 << 27);
            redistributor.set_edge(22, true);
            redistributor.set_edge(23, true);
            redistributor.set_edge(23, false);
            redistributor.set_edge(32, true);
            assert_eq!(region.read32(ICFGR1), 2 << 12);
        });
    }
}
