//! The one interrupt controller of the machine.

use alloc::boxed::Box;

use super::{AFFINITY, Distributor, GicError, HYPERVISOR_TIMER, MAINTENANCE, Private, Version};
use crate::arch::mmio::Mmio;
use crate::arch::percpu::StaticRef;
use crate::arch::{gicv2, gicv3, regs};
use crate::plan::MAX_CPUS;

/// Registers of the interrupt controller, apart from those of the distributor.
#[derive(Debug)]
pub enum Frames {
    /// Frames of a GICv2.
    V2 {
        /// GICC: the CPU interface.
        cpu: Mmio,
        /// GICH: control of the virtual CPU interface.
        control: Mmio,
    },
    /// Frames of a GICv3.
    V3 {
        /// All redistributors.
        redistributors: Mmio,
    },
}

impl Frames {
    fn version(&self) -> Version {
        match self {
            Self::V2 { .. } => Version::V2,
            Self::V3 { .. } => Version::V3,
        }
    }
}

#[derive(Debug)]
struct Gic {
    distributor: Distributor,
    registers: Mmio,
    frames: Frames,
}

static GIC: StaticRef<Gic> = StaticRef::empty();
/// Private interrupts of the CPUs that are up, by their index in the plan.
static PRIVATE: [StaticRef<Private>; MAX_CPUS] = [const { StaticRef::empty() }; MAX_CPUS];

/// Affinity of the executing CPU.
fn affinity() -> u64 {
    regs::mpidr_el1::read() & AFFINITY
}

/// Sets up the distributor; once, at boot. All shared interrupts are disabled
/// and sent to the executing CPU.
pub fn init(registers: Mmio, frames: Frames) -> Result<(), GicError> {
    let distributor = Distributor::new(registers, frames.version())?;
    distributor.init(affinity())?;
    GIC.set(Some(Box::leak(Box::new(Gic { distributor, registers, frames }))));
    Ok(())
}

/// Sets up the part of the interrupt controller that belongs to the executing CPU, which has this
/// index in the plan; the private interrupts that the hypervisor uses are enabled.
pub fn init_cpu(index: usize) -> Result<(), GicError> {
    let gic = GIC.get().ok_or(GicError::NotInitialised)?;
    let own = match gic.frames {
        Frames::V2 { cpu, control } => gicv2::init_cpu(gic.registers, cpu, control, affinity())?,
        Frames::V3 { redistributors } => gicv3::init_cpu(redistributors, affinity())?,
    };
    // Software-generated ones are those of the hypervisor.
    for intid in 0..32 {
        if intid < 16 || intid == MAINTENANCE || intid == HYPERVISOR_TIMER {
            own.set_enabled(intid, true);
        }
    }
    // Whatever comes: budgets end and periods begin in time.
    own.prefer(HYPERVISOR_TIMER);
    if let Some(slot) = PRIVATE.get(index) {
        slot.set(Some(Box::leak(Box::new(own))));
    }
    Ok(())
}

/// The distributor: shared interrupts. `None` before [`init`].
pub fn shared() -> Option<&'static Distributor> {
    GIC.get().map(|gic| &gic.distributor)
}

/// Private interrupts of the CPU with this index in the plan, which must be the executing one where
/// the controller [is a GICv2](super::is_v2). `None` before its [`init_cpu`].
#[inline(always)]
pub fn private(index: usize) -> Option<Private> {
    PRIVATE.get(index)?.get().copied()
}

/// Enables a private interrupt of the executing CPU, which has this index in the plan.
/// It goes before all others. `edge`: it is a pulse.
pub fn prefer_private(index: usize, intid: u32, edge: bool) {
    if let Some(private) = private(index) {
        private.set_edge(intid, edge);
        private.prefer(intid);
        private.set_enabled(intid, true);
    }
}
