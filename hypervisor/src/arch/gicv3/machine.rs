//! The one interrupt controller of the machine.

use alloc::boxed::Box;

use super::{Distributor, GicError, HYPERVISOR_TIMER, MAINTENANCE, Redistributor};
use super::{Lists, cpu_interface, redistributors};
use crate::arch::mmio::Mmio;
use crate::arch::percpu::StaticRef;
use crate::plan::MAX_CPUS;

#[derive(Debug)]
struct Gic {
    distributor: Distributor,
    /// Registers of all redistributors.
    region: Mmio,
}

static GIC: StaticRef<Gic> = StaticRef::empty();
/// Redistributors of the CPUs that are up, by their index in the plan.
static PRIVATE: [StaticRef<Redistributor>; MAX_CPUS] = [const { StaticRef::empty() }; MAX_CPUS];

/// Sets up the distributor; once, at boot. All shared interrupts are disabled
/// and sent to the executing CPU. `region`: registers of all redistributors.
pub fn init(distributor: Mmio, region: Mmio) -> Result<(), GicError> {
    let distributor = Distributor::new(distributor)?;
    distributor.init(cpu_interface::affinity())?;
    GIC.set(Some(Box::leak(Box::new(Gic { distributor, region }))));
    Ok(())
}

/// Sets up redistributor and CPU interface of the executing CPU, which has this
/// index in the plan; the private interrupts that the hypervisor uses are enabled.
pub fn init_cpu(index: usize) -> Result<(), GicError> {
    let gic = GIC.get().ok_or(GicError::NotInitialised)?;
    let affinity = cpu_interface::affinity();
    let own = redistributors(gic.region)
        .find(|redistributor| redistributor.affinity() == affinity)
        .ok_or(GicError::NoRedistributor(affinity))?;
    own.init()?;
    cpu_interface::init()?;
    Lists::init();
    // Software-generated ones are those of the hypervisor.
    for intid in (0..16).chain([MAINTENANCE, HYPERVISOR_TIMER]) {
        own.set_enabled(intid, true);
    }
    if let Some(slot) = PRIVATE.get(index) {
        slot.set(Some(Box::leak(Box::new(own))));
    }
    Ok(())
}

/// The distributor: shared interrupts. `None` before [`init`].
pub fn shared() -> Option<&'static Distributor> {
    GIC.get().map(|gic| &gic.distributor)
}

/// Private interrupts of the CPU with this index in the plan. `None` before its
/// [`init_cpu`].
#[inline(always)]
pub fn private(index: usize) -> Option<Redistributor> {
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
