//! Distributor: shared interrupts.

use super::{AFFINITY, GicError, PRIORITY, poll};
use crate::arch::mmio::Mmio;
use crate::lock::Mutex;

const CTLR: usize = 0x0000;
const TYPER: usize = 0x0004;
const IGROUPR: usize = 0x0080;
const ISENABLER: usize = 0x0100;
const ICENABLER: usize = 0x0180;
const ISPENDR: usize = 0x0200;
const ICPENDR: usize = 0x0280;
const ISACTIVER: usize = 0x0300;
const ICACTIVER: usize = 0x0380;
const IPRIORITYR: usize = 0x0400;
const ICFGR: usize = 0x0c00;
const IROUTER: usize = 0x6000;
const PIDR2: usize = 0xffe8;
/// Bytes of the frame.
const BYTES: usize = 0x1_0000;

const ENABLE_GROUP1: u32 = 1 << 1;
const AFFINITY_ROUTING: u32 = 1 << 4;
const WRITE_PENDING: u32 = 1 << 31;

/// The distributor. Shared interrupts have INTIDs from 32 to 1019; others are ignored.
#[derive(Debug)]
pub struct Distributor {
    registers: Mmio,
    /// Number of INTIDs, private ones included.
    intids: u32,
    /// Held while a register with fields of several interrupts changes.
    fields: Mutex<()>,
}

impl Distributor {
    /// The distributor at these registers.
    pub fn new(registers: Mmio) -> Result<Self, GicError> {
        if registers.bytes() < BYTES {
            return Err(GicError::NotGicV3(0));
        }
        let revision = registers.read32(PIDR2) >> 4 & 0xf;
        if !matches!(revision, 3 | 4) {
            return Err(GicError::NotGicV3(revision));
        }
        let lines = registers.read32(TYPER) & 0x1f;
        let intids = (32 * (lines + 1)).min(1020);
        Ok(Self { registers, intids, fields: Mutex::new(()) })
    }

    /// Disables all shared interrupts, makes them group 1 levels, neither pending
    /// nor active, sends them to the CPU with `affinity`, and forwards group 1.
    pub fn init(&self, affinity: u64) -> Result<(), GicError> {
        let registers = self.registers;
        registers.write32(CTLR, 0);
        self.wait()?;
        // Changing the routing with a group enabled would be unpredictable.
        registers.write32(CTLR, AFFINITY_ROUTING);
        self.wait()?;
        for word in 1..self.intids.div_ceil(32) as usize {
            registers.write32(ICENABLER + 4 * word, u32::MAX);
            registers.write32(IGROUPR + 4 * word, u32::MAX);
        }
        self.wait()?;
        for word in 1..self.intids.div_ceil(32) as usize {
            registers.write32(ICPENDR + 4 * word, u32::MAX);
            registers.write32(ICACTIVER + 4 * word, u32::MAX);
            registers.write32(ICFGR + 8 * word, 0);
            registers.write32(ICFGR + 8 * word + 4, 0);
        }
        for intid in (32..self.intids as usize).step_by(4) {
            registers.write32(IPRIORITYR + intid, PRIORITY);
        }
        for intid in 32..self.intids as usize {
            registers.write64(IROUTER + 8 * intid, affinity & AFFINITY);
        }
        registers.write32(CTLR, AFFINITY_ROUTING | ENABLE_GROUP1);
        self.wait()
    }

    /// Waits until changes of enables and of GICD_CTLR are effective.
    fn wait(&self) -> Result<(), GicError> {
        if poll(|| self.registers.read32(CTLR) & WRITE_PENDING == 0) {
            Ok(())
        } else {
            Err(GicError::Stuck("GICD_CTLR.RWP"))
        }
    }

    /// Sets the interrupt's bit in one of the registers in which zeros change nothing.
    fn set(&self, register: usize, intid: u32) {
        if (32..self.intids).contains(&intid) {
            self.registers.write32(register + intid as usize / 32 * 4, 1 << (intid % 32));
        }
    }

    /// Enables or disables an interrupt; a disabled one does not fire any more
    /// when this returns.
    #[inline(never)]
    pub fn set_enabled(&self, intid: u32, enabled: bool) {
        self.set(if enabled { ISENABLER } else { ICENABLER }, intid);
        if !enabled {
            // If it never settles there is nothing better than to go on.
            let _ = self.wait();
        }
    }

    /// Sets or clears the pending state.
    pub fn set_pending(&self, intid: u32, pending: bool) {
        self.set(if pending { ISPENDR } else { ICPENDR }, intid);
    }

    /// Whether an interrupt is pending.
    pub fn is_pending(&self, intid: u32) -> bool {
        (32..self.intids).contains(&intid)
            && self.registers.read32(ISPENDR + intid as usize / 32 * 4) >> (intid % 32) & 1 != 0
    }

    /// Sets or clears the active state.
    pub fn set_active(&self, intid: u32, active: bool) {
        self.set(if active { ISACTIVER } else { ICACTIVER }, intid);
    }

    /// Chooses between edge and level. The interrupt must be disabled.
    pub fn set_edge_triggered(&self, intid: u32, edge: bool) {
        if !(32..self.intids).contains(&intid) {
            return;
        }
        let register = ICFGR + intid as usize / 16 * 4;
        let bit = 2 << (intid % 16 * 2);
        let _held = self.fields.lock();
        let old = self.registers.read32(register);
        self.registers.write32(register, if edge { old | bit } else { old & !bit });
    }

    /// Sends an interrupt to the CPU with this affinity.
    pub fn set_target(&self, intid: u32, affinity: u64) {
        if (32..self.intids).contains(&intid) {
            self.registers.write64(IROUTER + 8 * intid as usize, affinity & AFFINITY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plain memory in place of registers.
    fn on_memory(pidr2: u32, test: impl FnOnce(Mmio)) {
        let mut memory = vec![0u64; BYTES / 8];
        // SAFETY: the memory outlives the block and is reached only through it.
        let registers = unsafe { Mmio::new(memory.as_mut_ptr().expose_provenance(), BYTES) };
        registers.write32(PIDR2, pidr2);
        registers.write32(TYPER, 2);
        test(registers);
    }

    #[test]
    fn other_versions_are_refused() {
        on_memory(0x2b, |registers| {
            assert_eq!(Distributor::new(registers).err(), Some(GicError::NotGicV3(2)));
        });
    }

    #[test]
    fn set_up_leaves_private_registers_alone() {
        on_memory(0x3b, |registers| {
            let distributor = Distributor::new(registers).unwrap();
            distributor.init(0x1_0000_0203).unwrap();
            assert_eq!(registers.read32(CTLR), AFFINITY_ROUTING | ENABLE_GROUP1);
            assert_eq!(registers.read32(IGROUPR), 0);
            assert_eq!(registers.read32(IGROUPR + 8), u32::MAX);
            assert_eq!(registers.read32(IGROUPR + 12), 0, "only 96 INTIDs");
            assert_eq!(registers.read64(IROUTER + 8 * 95), 0x1_0000_0203);
            assert_eq!(registers.read64(IROUTER + 8 * 31), 0);
        });
    }

    #[test]
    fn each_interrupt_has_its_bit() {
        on_memory(0x3b, |registers| {
            let distributor = Distributor::new(registers).unwrap();
            distributor.set_enabled(77, true);
            assert_eq!(registers.read32(ISENABLER + 8), 1 << 13);
            distributor.set_active(77, false);
            assert_eq!(registers.read32(ICACTIVER + 8), 1 << 13);
            distributor.set_edge_triggered(77, true);
            distributor.set_edge_triggered(78, true);
            distributor.set_edge_triggered(78, false);
            assert_eq!(registers.read32(ICFGR + 16), 2 << 26);
            distributor.set_pending(77, true);
            assert!(distributor.is_pending(77) && !distributor.is_pending(78));
            for outside in [31, 96, 1020, u32::MAX] {
                distributor.set_enabled(outside, true);
                distributor.set_target(outside, 1);
                assert!(!distributor.is_pending(outside));
            }
            assert_eq!(registers.read32(ISENABLER), 0);
        });
    }

    #[test]
    fn stuck_hardware_is_reported() {
        on_memory(0x3b, |registers| {
            let distributor = Distributor::new(registers).unwrap();
            registers.write32(CTLR, WRITE_PENDING);
            assert_eq!(distributor.wait(), Err(GicError::Stuck("GICD_CTLR.RWP")));
        });
    }
}
