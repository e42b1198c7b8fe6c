//! How many accesses a VCPU makes at most after the last one of its budget.
//!
//! What is counted for a VCPU is what its PCPU accesses, the hypervisor too. When the budget ends the counter
//! interrupts. Then there come, one after the other,
//!
//! 1. what is on its way until the interrupt reaches the PCPU: [`IN_FLIGHT`];
//! 2. if the hypervisor serves something, the rest of that, because interrupts wait until it looks for them or the guest
//!    goes on: [`Overshoot::path`]. Long work is done in chunks, each of which is such a path;
//! 3. what the hypervisor does from the vector of the interrupt, which goes before all others, until the PCPU idles, and
//!    from there until the counter is read again; or what it does after a VCPU that waits for something else until another one
//!    executes: [`Overshoot::idle`]. The VCPU pays for that with its next budget;
//! 4. while it waits, the interrupts that come for it ([`crate::pace::interrupts_max`]): [`Overshoot::interrupt`] each.
//!
//! How many accesses a path makes at most, whatever is in the caches, follows from the lines that it touches. A line of data
//! comes in once, for which a changed one may leave the last-level cache, and another one the private cache, which may
//! make a third one leave the last-level cache: 3 accesses. A line of instructions makes none leave a private cache that
//! was changed: 2. With them come accesses past the caches, and lines that are written back on purpose. cachescope counts
//! this for all paths of a run (`hypervisor_paths`); `crates/cli/tests/overshoot.rs` holds it against these numbers.

/// Accesses that are on their way until the interrupt is taken.
pub const IN_FLIGHT: u64 = 32;

/// Accesses of the hypervisor at most.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Overshoot {
    /// Between two places where it looks for interrupts.
    pub path: u64,
    /// From an overflow to a PCPU that idles, and from there until the counter is read again; or from a VCPU that waits until another
    /// one executes.
    pub idle: u64,
    /// To serve an interrupt that comes for a VCPU that waits.
    pub interrupt: u64,
}

/// On a PCPU with one VCPU, which has a budget of its own, in a system without critical VMs. The VM neither starts again by itself nor moves
/// pages. The last path of such a VM, which goes off, is as long as path and idle at most.
pub const ALONE: Overshoot = Overshoot { path: 512, idle: 384, interrupt: 384 };

/// The same where the budget is that of the VM, or a VM is critical.
pub const TOGETHER: Overshoot = Overshoot { path: 640, idle: 448, ..ALONE };

/// On any PCPU.
pub const ANY: Overshoot = Overshoot { path: 1280, idle: 1280, interrupt: 1280 };

impl Overshoot {
    /// The same where the VM starts again by itself, or moves pages.
    #[must_use]
    pub const fn with_long_paths(self) -> Self {
        Self { path: ANY.path, ..self }
    }

    /// Accesses that a VCPU makes beyond its budget at most, if `interrupts` come for it at most from one time that it executes to the next.
    pub const fn most(self, interrupts: u32) -> u64 {
        IN_FLIGHT + self.path + self.idle + self.interrupt * interrupts as u64
    }
}
