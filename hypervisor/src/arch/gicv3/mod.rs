//! Physical GICv3 (Arm IHI 0069): non-secure group 1 interrupts at EL2.
//!
//! Priority drop and deactivation are separate (EOImode 1): an interrupt for the
//! hypervisor is acknowledged, ended and deactivated here; one for a guest is
//! acknowledged and ended here and deactivated by the guest through its list
//! register.

mod distributor;
mod redistributor;

#[cfg(target_os = "none")]
mod cpu_interface;
#[cfg(target_os = "none")]
mod machine;
#[cfg(target_os = "none")]
mod virtual_interface;

#[cfg(target_os = "none")]
pub use cpu_interface::{acknowledge, deactivate, end, send_sgi};
#[cfg(target_os = "none")]
pub use machine::{init, init_cpu, prefer_private, private, shared};
#[cfg(target_os = "none")]
pub use virtual_interface::{Lists, SavedLists};

pub use distributor::Distributor;
pub use redistributor::{Redistributor, redistributors};

use core::fmt;

/// Maintenance interrupt of the virtual CPU interface.
pub const MAINTENANCE: u32 = 25;
/// Interrupt of the hypervisor's physical timer.
pub const HYPERVISOR_TIMER: u32 = 26;

/// Affinity fields of an MPIDR value, which are also those of GICD_IROUTER.
const AFFINITY: u64 = 0xff_00ff_ffff;

/// Priority of all physical interrupts. Guests' priorities act in list registers.
const PRIORITY: u32 = 0xa0a0_a0a0;

/// How often a register is read until hardware counts as stuck.
const POLLS_MAX: u32 = 1_000_000;

/// Why the interrupt controller cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GicError {
    /// The registers at the distributor's address are too few, or not those of
    /// a GICv3 or GICv4: architecture revision in GICD_PIDR2.
    NotGicV3(u32),
    /// No redistributor in the planned range serves the CPU with this affinity.
    NoRedistributor(u64),
    /// This register never showed that a change is complete.
    Stuck(&'static str),
    /// The CPU does not let EL2 use system registers: ICC_SRE_EL2.
    NoSystemRegisters,
    /// The controller was not set up before the first CPU.
    NotInitialised,
}

impl fmt::Display for GicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGicV3(revision) => write!(
                f,
                "interrupt controller: no GICv3 at the planned address (architecture revision \
                 {revision}): check reg of /platform/interrupt-controller"
            ),
            Self::NoRedistributor(affinity) => write!(
                f,
                "interrupt controller: no redistributor for the CPU with affinity {affinity:#x} \
                 in the planned range: check reg of /platform/interrupt-controller"
            ),
            Self::Stuck(register) => {
                write!(f, "interrupt controller: {register} does not settle: hardware fault")
            }
            Self::NoSystemRegisters => {
                f.write_str("interrupt controller: firmware keeps EL2 from ICC_SRE_EL2")
            }
            Self::NotInitialised => f.write_str("interrupt controller: not initialised"),
        }
    }
}

/// Reads until `done`; `false` if that never happens.
fn poll(mut done: impl FnMut() -> bool) -> bool {
    (0..POLLS_MAX).any(|_| {
        let done = done();
        if !done {
            core::hint::spin_loop();
        }
        done
    })
}
