//! Distributor: shared interrupts. Most of its registers are the same in GICv2 and GICv3.

use super::{AFFINITY, BOOT_READS, GicError, PRIORITY, SETTLE_READS, poll};
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
/// GICv2 only: a byte for each interrupt, a bit for each CPU.
const ITARGETSR: usize = 0x0800;
const ICFGR: usize = 0x0c00;
/// GICv3 only; the first from GICv3.1 on.
const ICENABLER_EXTENDED: usize = 0x1400;
const IROUTER: usize = 0x6000;

/// GICD_TYPER of a GICv3.1: there are shared interrupts from INTID 4096 on, and 32 times how many, less one.
const EXTENDED: u32 = 1 << 8;
const EXTENDED_RANGE: u32 = 27;

const ENABLE_GROUP1: u32 = 1 << 1;
/// GICv2: the group of all interrupts. With two security states that is group 1, which has the first
/// bit where the second state sees it; without, group 0.
const ENABLE: u32 = 1 << 0;
const AFFINITY_ROUTING: u32 = 1 << 4;
const WRITE_PENDING: u32 = 1 << 31;

/// Version of an interrupt controller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Version {
    /// GICv2 (Arm IHI 0048), driven through memory.
    V2,
    /// GICv3 or GICv4 (Arm IHI 0069), driven through system registers.
    V3,
}

impl Version {
    /// The number.
    pub const fn number(self) -> u32 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// Bytes of the distributor's frame.
    const fn bytes(self) -> usize {
        match self {
            Self::V2 => 0x1000,
            Self::V3 => 0x1_0000,
        }
    }

    /// Offset of GICD_PIDR2 (ICPIDR2), and the architecture revisions that it may show.
    const fn identification(self) -> (usize, core::ops::RangeInclusive<u32>) {
        match self {
            Self::V2 => (0x0fe8, 2..=2),
            Self::V3 => (0xffe8, 3..=4),
        }
    }
}

/// The distributor. Shared interrupts have INTIDs from 32 to 1019; others are ignored.
#[derive(Debug)]
pub struct Distributor {
    registers: Mmio,
    version: Version,
    /// Number of INTIDs, private ones included.
    intids: u32,
    /// Held while a register with fields of several interrupts changes.
    fields: Mutex<()>,
}

impl Distributor {
    /// The distributor at these registers.
    pub fn new(registers: Mmio, version: Version) -> Result<Self, GicError> {
        let (pidr2, revisions) = version.identification();
        if registers.bytes() < version.bytes() {
            return Err(GicError::Version(version, 0));
        }
        let revision = registers.read32(pidr2) >> 4 & 0xf;
        if !revisions.contains(&revision) {
            return Err(GicError::Version(version, revision.into()));
        }
        let lines = registers.read32(TYPER) & 0x1f;
        let intids = (32 * (lines + 1)).min(1020);
        Ok(Self { registers, version, intids, fields: Mutex::new(()) })
    }

    /// Disables all shared interrupts, makes them levels of the one group that is in use, neither
    /// pending nor active, sends them to the CPU with `affinity`, and forwards that group.
    pub fn init(&self, affinity: u64) -> Result<(), GicError> {
        let registers = self.registers;
        self.disable_extended();
        let (group, control, enabled) = match self.version {
            Version::V2 => (0, 0, ENABLE),
            Version::V3 => (u32::MAX, AFFINITY_ROUTING, AFFINITY_ROUTING | ENABLE_GROUP1),
        };
        registers.write32(CTLR, 0);
        self.wait()?;
        // Changing the routing with a group enabled would be unpredictable.
        registers.write32(CTLR, control);
        self.wait()?;
        for word in 1..self.intids.div_ceil(32) as usize {
            registers.write32(ICENABLER + 4 * word, u32::MAX);
            registers.write32(IGROUPR + 4 * word, group);
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
        let shared = 32..self.intids as usize;
        match self.version {
            Version::V2 => {
                let targets = u32::from_le_bytes([interface(affinity); 4]);
                shared.step_by(4).for_each(|at| registers.write32(ITARGETSR + at, targets));
            }
            Version::V3 => {
                shared.for_each(|at| registers.write64(IROUTER + 8 * at, affinity & AFFINITY));
            }
        }
        registers.write32(CTLR, enabled);
        self.wait()
    }

    /// Nobody here has extended interrupts, which firmware may have left enabled.
    fn disable_extended(&self) {
        let typer = self.registers.read32(TYPER);
        if self.version == Version::V3 && typer & EXTENDED != 0 {
            for word in 0..=(typer >> EXTENDED_RANGE) as usize {
                self.registers.write32(ICENABLER_EXTENDED + 4 * word, u32::MAX);
            }
        }
    }

    /// At boot: waits until changes of enables and of GICD_CTLR are effective. A GICv2 does not tell: the
    /// bit is reserved there, and reading the register waits for what was written.
    fn wait(&self) -> Result<(), GicError> {
        if poll(BOOT_READS, || self.is_settled()) {
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

    /// Enables or disables an interrupt; a disabled one may still fire until [`Distributor::settle`].
    #[inline(never)]
    pub fn set_enabled(&self, intid: u32, enabled: bool) {
        self.set(if enabled { ISENABLER } else { ICENABLER }, intid);
    }

    /// Waits until interrupts that were disabled do not fire any more, for `SETTLE_READS` reads at most:
    /// the bit that tells is one for all writers, so that other VMs can keep it set.
    #[inline(never)]
    pub fn settle(&self) {
        poll(SETTLE_READS, || self.is_settled());
    }

    fn is_settled(&self) -> bool {
        self.registers.read32(CTLR) & WRITE_PENDING == 0
    }

    /// Sets or clears the pending state.
    pub fn set_pending(&self, intid: u32, pending: bool) {
        self.set(if pending { ISPENDR } else { ICPENDR }, intid);
    }

    /// Returns true if an interrupt is pending.
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
        if !(32..self.intids).contains(&intid) {
            return;
        }
        let at = intid as usize;
        match self.version {
            Version::V2 => self.registers.write8(ITARGETSR + at, interface(affinity)),
            Version::V3 => self.registers.write64(IROUTER + 8 * at, affinity & AFFINITY),
        }
    }
}

/// The CPU interface of a GICv2 of the CPU with this affinity, as a set: the one with that number,
/// which `gicv2::init_cpu` compares with what the CPU says.
pub(in crate::arch) fn interface(affinity: u64) -> u8 {
    1_u8.checked_shl((affinity & AFFINITY) as u32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plain memory in place of registers.
    fn on_memory(version: Version, pidr2: u32, test: impl FnOnce(Mmio)) {
        let bytes = version.bytes();
        let mut memory = vec![0u64; bytes / 8];
        // SAFETY: the memory outlives the block and is reached only through it.
        let registers = unsafe { Mmio::new(memory.as_mut_ptr().expose_provenance(), bytes) };
        registers.write32(version.identification().0, pidr2);
        registers.write32(TYPER, 2);
        test(registers);
    }

    #[test]
    fn other_versions_are_refused() {
        for (version, pidr2, found) in [(Version::V3, 0x2b, 2), (Version::V2, 0x3b, 3)] {
            on_memory(version, pidr2, |registers| {
                let error = Distributor::new(registers, version).err();
                assert_eq!(error, Some(GicError::Version(version, found)));
            });
        }
        on_memory(Version::V2, 0x2b, |registers| {
            let error = Distributor::new(registers, Version::V3).err();
            assert_eq!(error, Some(GicError::Version(Version::V3, 0)), "the frame is too small");
        });
    }

    #[test]
    fn set_up_leaves_private_registers_alone() {
        on_memory(Version::V3, 0x3b, |registers| {
            let distributor = Distributor::new(registers, Version::V3).unwrap();
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
    fn extended_interrupts_are_disabled_where_they_exist() {
        for (version, pidr2, typer, words) in [
            (Version::V3, 0x3b, 2 | EXTENDED | 1 << EXTENDED_RANGE, 2),
            (Version::V3, 0x3b, 2 | EXTENDED | 31 << EXTENDED_RANGE, 32),
            (Version::V3, 0x3b, 2 | 31 << EXTENDED_RANGE, 0),
            (Version::V2, 0x2b, 2 | EXTENDED, 0),
        ] {
            on_memory(version, pidr2, |registers| {
                registers.write32(TYPER, typer);
                Distributor::new(registers, version).unwrap().init(0).unwrap();
                let end = registers.bytes().min(IROUTER);
                let disabled = (ICENABLER_EXTENDED..end)
                    .step_by(4)
                    .take_while(|&register| registers.read32(register) == u32::MAX);
                assert_eq!(disabled.count(), words, "{version:?} {typer:#x}");
            });
        }
    }

    #[test]
    fn a_gicv2_sends_interrupts_to_interfaces() {
        on_memory(Version::V2, 0x2b, |registers| {
            let distributor = Distributor::new(registers, Version::V2).unwrap();
            distributor.init(0x8000_0001).unwrap();
            assert_eq!(registers.read32(CTLR), ENABLE);
            assert_eq!(registers.read32(IGROUPR + 4), 0);
            assert_eq!(registers.read32(ITARGETSR + 28), 0, "private ones have no target");
            assert_eq!(registers.read32(ITARGETSR + 92), 0x0202_0202);
            assert_eq!(registers.read32(ITARGETSR + 96), 0, "only 96 INTIDs");
            distributor.set_target(77, 3);
            assert_eq!(registers.read32(ITARGETSR + 76), 0x0202_0802);
        });
    }

    #[test]
    fn each_interrupt_has_its_bit() {
        on_memory(Version::V3, 0x3b, |registers| {
            let distributor = Distributor::new(registers, Version::V3).unwrap();
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
        on_memory(Version::V3, 0x3b, |registers| {
            let distributor = Distributor::new(registers, Version::V3).unwrap();
            registers.write32(CTLR, WRITE_PENDING);
            assert_eq!(distributor.wait(), Err(GicError::Stuck("GICD_CTLR.RWP")));
            // Guests go on.
            distributor.set_enabled(77, false);
            distributor.settle();
        });
    }
}
