//! The maximum number of accesses of a VCPU after the last one of its budget.
//!
//! All accesses of its PCPU count for a VCPU, also those of the hypervisor. When the budget ends
//! the counter interrupts. Then follow, one after the other,
//!
//! 1. accesses on their way until the interrupt reaches the PCPU: [`IN_FLIGHT`];
//! 2. if the hypervisor serves an exit, the rest of that, because interrupts wait until the
//!    hypervisor looks for them or the guest continues: [`Overshoot::path`]. Long work is done in
//!    chunks, each of which is such a path;
//! 3. the work of the hypervisor from the vector of the interrupt, which has the highest priority,
//!    until the PCPU idles, and from there until the counter is read again; or its work after a
//!    VCPU that waits, until another one executes: [`Overshoot::idle`]. The VCPU pays for this with
//!    its next budget;
//! 4. while the VCPU waits, the interrupts that come for it ([`crate::pace::interrupts_max`]):
//!    [`Overshoot::interrupt`] each.
//!
//! The maximum number of accesses of a path, whatever is in the caches, follows from the lines that
//! the path touches. A line of data is loaded once. For it, a changed line may leave the last-level
//! cache, and another one the private cache, which may make a third one leave the last-level cache:
//! 3 accesses. A line of instructions evicts no changed line from a private cache: 2. Accesses past
//! the caches and deliberate write-backs are added. cachescope counts this for all paths of a run
//! (`hypervisor_paths`); `crates/cli/tests/overshoot.rs` compares the counts with these numbers.

/// Maximum number of accesses that are on their way until the interrupt is taken.
pub const IN_FLIGHT: u64 = 32;

/// Maximum numbers of accesses of the hypervisor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Overshoot {
    /// Between two places at which the hypervisor looks for interrupts.
    pub path: u64,
    /// From an overflow to a PCPU that idles, and from there until the counter is read again; or from a VCPU that waits until another
    /// one executes.
    pub idle: u64,
    /// To serve an interrupt that comes for a VCPU that waits.
    pub interrupt: u64,
}

/// On a PCPU with one VCPU, which has a budget of its own, in a system without critical VMs. The VM
/// neither starts again by itself nor moves pages. The last path of such a VM, in which it goes
/// off, is at most as long as `path` and `idle` together.
pub const ALONE: Overshoot = Overshoot { path: 512, idle: 384, interrupt: 384 };

/// The same if the budget is that of the VM, or a VM is critical.
pub const TOGETHER: Overshoot = Overshoot { path: 640, idle: 448, ..ALONE };

/// On any PCPU.
pub const ANY: Overshoot = Overshoot { path: 1280, idle: 1280, interrupt: 1280 };

/// Maximum number of accesses to serve an interrupt of the console, or to start its timer for a VM that begins a line. They come as often as
/// [`crate::pace::CONSOLE_PER_SECOND`] says, also on a PCPU without VCPUs, so that they are counted beside the budgets of VCPUs.
pub const CONSOLE: u64 = 320;

/// Maximum number of accesses to bring an end of a serial line up to date, beside those that are counted without serial lines: the end, what
/// both directions hold, its interrupt, and notes for VCPUs of the other end.
pub const SERIAL_END: u64 = 128;

impl Overshoot {
    /// Returns the same where the VM starts again by itself, or moves pages.
    #[must_use]
    pub const fn with_long_paths(self) -> Self {
        Self { path: ANY.path, ..self }
    }

    /// Returns the same for a VCPU of a VM with `lines` serial lines, at all of which something may have been told before.
    #[must_use]
    pub const fn with_lines(self, lines: u64) -> Self {
        let Self { path, idle, interrupt } = self;
        let more = lines * SERIAL_END;
        Self { path: path + more, idle: idle + more, interrupt: interrupt + more }
    }

    /// Returns the maximum number of accesses of a VCPU beyond its budget, if at most `interrupts`
    /// interrupts come for it between two of its executions.
    pub const fn most(self, interrupts: u32) -> u64 {
        IN_FLIGHT + self.path + self.idle + self.interrupt * interrupts as u64
    }
}
