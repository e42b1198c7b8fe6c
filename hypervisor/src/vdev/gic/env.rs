//! The machine as the virtual interrupt controller needs it.

use super::attention::Attention;
use super::list_register::ListRegisters;

/// A physical interrupt behind an interrupt of the guest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Physical {
    /// A private one of the PCPU that runs a VCPU.
    Private {
        /// The VCPU.
        vcpu: usize,
        /// INTID, 16 to 31.
        intid: u32,
    },
    /// A shared one.
    Shared {
        /// INTID, 32 to 1019.
        intid: u32,
    },
}

impl Physical {
    /// Makes interrupt `intid` of the PCPU of `vcpu`.
    pub const fn of(vcpu: usize, intid: u32) -> Self {
        if intid < 32 { Self::Private { vcpu, intid } } else { Self::Shared { intid } }
    }
}

/// The machine under one VM.
///
/// VCPUs are numbered as in the VM. Calls may come from any PCPU and while the
/// VM's interrupt state is locked: an implementation must be short, bounded
/// and must not call back.
pub trait Env {
    /// Access to the list registers of the executing PCPU.
    type Lists: ListRegisters;

    /// Returns the list registers of the executing PCPU.
    fn lists(&self) -> &Self::Lists;

    /// Returns the VCPU of this VM that is loaded on the executing PCPU, if there is one.
    fn current(&self) -> Option<usize>;

    /// Returns the place of a VCPU, and the notes for it; `None` if there is no such VCPU.
    fn attention(&self, vcpu: usize) -> Option<&Attention>;

    /// Makes the PCPU of another, started VCPU call [`VGic::attend`](super::VGic::attend) soon.
    fn kick(&self, vcpu: usize);

    /// Enables or disables the interrupt. After the call, a disabled private interrupt can no
    /// longer be acknowledged; a shared one may be until [`Env::settle`]. The state allows this: it
    /// is as if the interrupt had been acknowledged just before, and it is given back.
    fn set_enabled(&self, interrupt: Physical, enabled: bool);

    /// Waits until disabled shared interrupts can no longer be acknowledged. Only for changes of
    /// their trigger, because this takes the time of several device accesses.
    fn settle(&self);

    /// Sets or clears the pending state.
    fn set_pending(&self, interrupt: Physical, pending: bool);

    /// Returns true if the interrupt is pending.
    fn is_pending(&self, interrupt: Physical) -> bool;

    /// Sets or clears the active state. An active interrupt does not fire.
    fn set_active(&self, interrupt: Physical, active: bool);

    /// Chooses between edge and level for shared interrupt `intid`.
    fn set_edge_triggered(&self, intid: u32, edge: bool);

    /// Sends shared interrupt `intid` to the PCPU of `vcpu`.
    fn set_target(&self, intid: u32, vcpu: usize);
}
