//! Redistributors: private interrupts of each CPU.

use crate::arch::gic::{AFFINITY, BOOT_READS, GicError, Private, poll};
use crate::arch::mmio::{Block, Mmio};

const CTLR: usize = 0x0000;
const TYPER: usize = 0x0008;
const WAKER: usize = 0x0014;
/// Bytes of the registers in use of the first frame.
const CONTROL_BYTES: usize = 0x18;
/// Offset of the second frame.
const SGI: usize = 0x1_0000;

const PROCESSOR_SLEEP: u32 = 1 << 1;
const CHILDREN_ASLEEP: u32 = 1 << 2;
/// GICR_CTLR: LPIs are forwarded to the CPU.
const LPIS: u32 = 1 << 0;
/// GICR_TYPER: how many times 32 private interrupts there are from INTID 1056 on.
const EXTENDED: u32 = 27;
const EXTENDED_MASK: u64 = 0x1f;
/// GICR_TYPER: has two more frames, for virtual LPIs.
const VIRTUAL_LPIS: u64 = 1 << 1;
/// GICR_TYPER: the last one of its region.
const LAST: u64 = 1 << 4;

/// Bytes of both frames.
const BYTES: usize = 0x2_0000;

/// The redistributor of one CPU.
#[derive(Clone, Copy, Debug)]
pub struct Redistributor {
    control: Block<CONTROL_BYTES>,
    private: Private,
}

/// All redistributors in a region, up to the one that says it is the last.
pub fn redistributors(region: Mmio) -> impl Iterator<Item = Redistributor> {
    let mut next = Some(0);
    core::iter::from_fn(move || {
        let at = next.take()?;
        region.part(at, BYTES)?;
        let control: Block<CONTROL_BYTES> = region.block(at)?;
        let private = Private::new(region.block(at + SGI)?, region.block(at)?);
        let typer = control.read64(TYPER);
        if typer & LAST == 0 {
            next = Some(at + if typer & VIRTUAL_LPIS != 0 { 2 * BYTES } else { BYTES });
        }
        Some(Redistributor { control, private })
    })
}

impl Redistributor {
    /// Affinity of its CPU, laid out as in MPIDR.
    pub fn affinity(self) -> u64 {
        let typer = self.control.read64(TYPER);
        (typer >> 56 << 32 | typer >> 32 & 0xff_ffff) & AFFINITY
    }

    /// Wakes the redistributor, and disables all private interrupts and LPIs.
    pub fn init(self) -> Result<Private, GicError> {
        let control = self.control;
        let of_lpis = control.read32(CTLR);
        if of_lpis & LPIS != 0 {
            // Some controllers take no step back.
            control.write32(CTLR, of_lpis & !LPIS);
            if control.read32(CTLR) & LPIS != 0 {
                return Err(GicError::Lpis(self.affinity()));
            }
        }
        control.write32(WAKER, control.read32(WAKER) & !PROCESSOR_SLEEP);
        if !poll(BOOT_READS, || control.read32(WAKER) & CHILDREN_ASLEEP == 0) {
            return Err(GicError::Stuck("GICR_WAKER.ChildrenAsleep"));
        }
        let extended = control.read64(TYPER) >> EXTENDED & EXTENDED_MASK;
        self.private.init(u32::MAX, extended as usize)?;
        Ok(self.private)
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
    fn set_up_wakes() {
        on_memory(1, |region| {
            let redistributor = redistributors(region).next().unwrap();
            region.write32(WAKER, PROCESSOR_SLEEP | CHILDREN_ASLEEP);
            let error = redistributor.init().err();
            assert_eq!(error, Some(GicError::Stuck("GICR_WAKER.ChildrenAsleep")));
            assert_eq!(region.read32(WAKER), CHILDREN_ASLEEP);
            region.write32(WAKER, 0);
            redistributor.init().unwrap().set_enabled(27, true);
            assert_eq!(region.read32(SGI + 0x80), u32::MAX, "GICR_IGROUPR0");
            assert_eq!(region.read32(SGI + 0x100), 1 << 27, "GICR_ISENABLER0");
        });
    }

    #[test]
    fn extended_interrupts_are_disabled_where_they_exist() {
        for extended in 0..=2 {
            on_memory(1, |region| {
                describe(region, 0, 0, LAST | extended << EXTENDED);
                redistributors(region).next().unwrap().init().unwrap();
                let words = [0x180, 0x184, 0x188].map(|at| region.read32(SGI + at) == u32::MAX);
                let expected = [0, 1, 2].map(|word| word <= extended);
                assert_eq!(words, expected);
            });
        }
    }

    #[test]
    fn lpis_of_the_firmware_are_disabled() {
        on_memory(1, |region| {
            describe(region, 0, 0, LAST);
            region.write32(CTLR, LPIS | 1 << 24);
            redistributors(region).next().unwrap().init().unwrap();
            assert_eq!(region.read32(CTLR), 1 << 24);
        });
    }
}
