//! Private interrupts of a CPU. Their registers are the same in both versions: the second frame
//! of a GICv3's redistributor, and the start of a GICv2's distributor, of which each CPU sees its own.

use super::{BOOT_READS, GicError, PRIORITY, PRIORITY_OF_SGIS, SETTLE_READS, poll};
use crate::arch::mmio::Block;

const IGROUPR0: usize = 0x0080;
const ISENABLER0: usize = 0x0100;
const ICENABLER0: usize = 0x0180;
const ISPENDR0: usize = 0x0200;
const ICPENDR0: usize = 0x0280;
const ISACTIVER0: usize = 0x0300;
const ICACTIVER0: usize = 0x0380;
const IPRIORITYR: usize = 0x0400;
const ICFGR1: usize = 0x0c04;
/// Most words of extended private interrupts.
const EXTENDED_MAX: usize = 2;
/// Bytes of the registers in use.
pub(in crate::arch) const BYTES: usize = ICFGR1 + 4;

/// More urgent than [`PRIORITY`], by one of the few steps that every controller has.
const PREFERRED: u8 = 0x80;

/// GICR_CTLR: a change is not complete. GICD_CTLR of a GICv2: reserved, zero.
const WRITE_PENDING: u32 = 1 << 3;

/// The private interrupts of one CPU, with INTIDs below 32; others are ignored. Of a GICv2 only this
/// CPU may use it.
#[derive(Clone, Copy, Debug)]
pub struct Private {
    registers: Block<BYTES>,
    /// The register with [`WRITE_PENDING`].
    control: Block<4>,
}

impl Private {
    /// The interrupts with these registers. `control`: GICR_CTLR, or GICD_CTLR of a GICv2.
    pub(in crate::arch) const fn new(registers: Block<BYTES>, control: Block<4>) -> Self {
        Self { registers, control }
    }

    /// Disables all private interrupts, makes them group 1 (one bit for each in `group`), neither
    /// pending nor active. `extended`: how many times 32 interrupts a GICv3.1 has from INTID 1056 on, which
    /// are disabled too.
    pub(in crate::arch) fn init(self, group: u32, extended: usize) -> Result<(), GicError> {
        let registers = self.registers;
        for word in 0..=extended.min(EXTENDED_MAX) {
            registers.write32(ICENABLER0 + 4 * word, u32::MAX);
        }
        self.wait()?;
        registers.write32(IGROUPR0, group);
        registers.write32(ICPENDR0, u32::MAX);
        registers.write32(ICACTIVER0, u32::MAX);
        for intid in (0..32).step_by(4) {
            let priority = if intid < 16 { PRIORITY_OF_SGIS } else { PRIORITY };
            registers.write32(IPRIORITYR + intid, priority);
        }
        self.wait()
    }

    /// At boot: waits until disabled interrupts do not fire any more.
    fn wait(self) -> Result<(), GicError> {
        if self.settles_within(BOOT_READS) { Ok(()) } else { Err(GicError::Stuck("GICR_CTLR.RWP")) }
    }

    #[inline(never)]
    fn settles_within(self, reads: u32) -> bool {
        poll(reads, || self.control.read32(0) & WRITE_PENDING == 0)
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
        if !enabled && self.control.read32(0) & WRITE_PENDING != 0 {
            // If it never settles there is nothing better than to go on.
            self.settles_within(SETTLE_READS);
        }
    }

    /// A private interrupt goes before all others, which have `PRIORITY`.
    pub fn prefer(self, intid: u32) {
        if intid < 32 {
            // A byte for each interrupt: those beside it keep theirs.
            self.registers.write8(IPRIORITYR + intid as usize, PREFERRED);
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

    /// Returns true if an interrupt is pending.
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

    /// Sets or clears the active state. Returns true if the interrupt was active, if it `may_be`. An
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
    use crate::arch::mmio::Mmio;

    #[test]
    fn set_up_disables_and_each_interrupt_has_its_bit() {
        let mut memory = [0u64; 0x1000 / 8];
        // SAFETY: the memory outlives the block and is reached only through it.
        let block = unsafe { Mmio::new((&raw mut memory).expose_provenance(), 0x1000) };
        let private = Private::new(block.block(0).unwrap(), block.block(0).unwrap());
        private.init(u32::MAX, 0).unwrap();
        assert_eq!(block.read32(IGROUPR0), u32::MAX);
        assert_eq!(block.read32(ICENABLER0), u32::MAX);
        private.set_enabled(27, true);
        assert_eq!(block.read32(ISENABLER0), 1 << 27);
        private.set_enabled(32, true);
        assert_eq!(block.read32(ISENABLER0), 1 << 27);
        private.set_edge(22, true);
        private.set_edge(23, true);
        private.set_edge(23, false);
        private.set_edge(32, true);
        assert_eq!(block.read32(ICFGR1), 2 << 12);
    }

    #[test]
    fn who_is_preferred_leaves_the_priorities_of_neighbours() {
        let mut memory = [0u64; 0x1000 / 8];
        // SAFETY: as above.
        let block = unsafe { Mmio::new((&raw mut memory).expose_provenance(), 0x1000) };
        let private = Private::new(block.block(0).unwrap(), block.block(0).unwrap());
        private.init(u32::MAX, 0).unwrap();
        for intid in [26, 27, 22, 32] {
            private.prefer(intid);
        }
        assert_eq!(block.read32(IPRIORITYR + 24), 0x8080_a0a0);
        assert_eq!(block.read32(IPRIORITYR + 20), 0xa080_a0a0);
        assert_eq!(block.read32(IPRIORITYR + 32), 0, "not a private one");
    }

    #[test]
    fn stuck_hardware_is_reported() {
        let mut memory = [0u64; 0x1000 / 8];
        // SAFETY: as above.
        let block = unsafe { Mmio::new((&raw mut memory).expose_provenance(), 0x1000) };
        let private = Private::new(block.block(0).unwrap(), block.block(0xd00).unwrap());
        block.write32(0xd00, WRITE_PENDING);
        assert_eq!(private.init(0, 0), Err(GicError::Stuck("GICR_CTLR.RWP")));
    }
}
