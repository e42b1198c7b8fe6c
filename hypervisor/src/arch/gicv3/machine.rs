//! The one interrupt controller of the machine.

use spin::Once;

use super::{Distributor, GicError, HYPERVISOR_TIMER, MAINTENANCE, Redistributor};
use super::{cpu_interface, redistributors};
use crate::arch::mmio::Mmio;

/// Most CPUs whose redistributors are driven.
const CPUS_MAX: usize = 8;

#[derive(Debug)]
struct Gic {
    distributor: Distributor,
    /// Redistributors with the affinity of their CPU.
    redistributors: [Option<(u64, Redistributor)>; CPUS_MAX],
}

static GIC: Once<Gic> = Once::new();

/// An interrupt of the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Interrupt {
    /// A private one of a CPU.
    Private {
        /// Affinity of the CPU.
        affinity: u64,
        /// INTID, 0 to 31.
        intid: u32,
    },
    /// A shared one.
    Shared {
        /// INTID, 32 to 1019.
        intid: u32,
    },
}

impl Interrupt {
    /// Interrupt `intid`; if it is private, that of the executing CPU.
    pub fn here(intid: u32) -> Self {
        match intid {
            0..32 => Self::Private { affinity: cpu_interface::affinity(), intid },
            _ => Self::Shared { intid },
        }
    }
}

/// Sets up the distributor; once, at boot. All shared interrupts are disabled
/// and sent to the executing CPU. `cpus`: affinities of the CPUs that will be used.
pub fn init(
    distributor: Mmio,
    region: Mmio,
    cpus: impl Iterator<Item = u64>,
) -> Result<(), GicError> {
    let distributor = Distributor::new(distributor)?;
    distributor.init(cpu_interface::affinity())?;
    let mut found = [None; CPUS_MAX];
    for (slot, affinity) in found.iter_mut().zip(cpus) {
        let redistributor = redistributors(region)
            .find(|redistributor| redistributor.affinity() == affinity)
            .ok_or(GicError::NoRedistributor(affinity))?;
        *slot = Some((affinity, redistributor));
    }
    GIC.call_once(|| Gic { distributor, redistributors: found });
    Ok(())
}

/// Sets up redistributor and CPU interface of the executing CPU; the private
/// interrupts that the hypervisor uses are enabled.
pub fn init_cpu() -> Result<(), GicError> {
    let gic = GIC.get().ok_or(GicError::NotInitialised)?;
    let affinity = cpu_interface::affinity();
    let own = gic.redistributor(affinity).ok_or(GicError::NoRedistributor(affinity))?;
    own.init()?;
    cpu_interface::init()?;
    // Software-generated ones are those of the hypervisor.
    for intid in (0..16).chain([MAINTENANCE, HYPERVISOR_TIMER]) {
        own.set_enabled(intid, true);
    }
    Ok(())
}

impl Gic {
    fn redistributor(&self, affinity: u64) -> Option<Redistributor> {
        let mut known = self.redistributors.iter().flatten();
        known.find(|(of, _)| *of == affinity).map(|&(_, redistributor)| redistributor)
    }
}

/// Calls the method of the distributor or of the redistributor.
macro_rules! dispatch {
    ($interrupt:expr, $method:ident $(, $argument:expr)?) => {
        GIC.get().and_then(|gic| match $interrupt {
            Interrupt::Private { affinity, intid } => {
                gic.redistributor(affinity).map(|own| own.$method(intid $(, $argument)?))
            }
            Interrupt::Shared { intid } => Some(gic.distributor.$method(intid $(, $argument)?)),
        })
    };
}

/// Enables or disables; a disabled interrupt does not fire any more when this returns.
pub fn set_enabled(interrupt: Interrupt, enabled: bool) {
    dispatch!(interrupt, set_enabled, enabled);
}

/// Sets or clears the pending state.
pub fn set_pending(interrupt: Interrupt, pending: bool) {
    dispatch!(interrupt, set_pending, pending);
}

/// Whether an interrupt is pending.
pub fn is_pending(interrupt: Interrupt) -> bool {
    dispatch!(interrupt, is_pending).unwrap_or(false)
}

/// Sets or clears the active state.
pub fn set_active(interrupt: Interrupt, active: bool) {
    dispatch!(interrupt, set_active, active);
}

/// Enables interrupt `intid`; if it is private, that of the executing CPU.
pub fn enable(intid: u32) {
    set_enabled(Interrupt::here(intid), true);
}

/// Chooses between edge and level for shared interrupt `intid`, which is disabled.
pub fn set_edge_triggered(intid: u32, edge: bool) {
    if let Some(gic) = GIC.get() {
        gic.distributor.set_edge_triggered(intid, edge);
    }
}

/// Sends shared interrupt `intid` to the CPU with this affinity.
pub fn route(intid: u32, affinity: u64) {
    if let Some(gic) = GIC.get() {
        gic.distributor.route(intid, affinity);
    }
}
