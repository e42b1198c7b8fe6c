//! List registers, from which the CPU interface takes the interrupts of its guest.

/// Maximum number of list registers of a CPU interface.
pub const LISTS_MAX: usize = 16;

/// The content of one list register.
///
/// The layout is that of `ICH_LR<n>_EL2` (Arm IHI 0069, 12.4.9). Hardware with
/// another layout translates in its [`ListRegisters`]. When the guest is done
/// with an interrupt, hardware clears the state and keeps all other fields.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ListRegister(u64);

impl ListRegister {
    /// An empty register.
    pub const EMPTY: Self = Self(0);

    const PENDING: u64 = 1 << 62;
    const ACTIVE: u64 = 1 << 63;
    const HARDWARE: u64 = 1 << 61;
    const GROUP1: u64 = 1 << 60;
    const EOI: u64 = 1 << 41;
    const PHYSICAL: u64 = 0x1fff << 32;
    /// The sender, in place of the physical interrupt.
    const SENDER: u64 = 7 << 32;

    /// Interrupt `intid`, neither pending nor active.
    #[inline]
    pub const fn new(intid: u32, priority: u8, group1: bool) -> Self {
        let group = if group1 { Self::GROUP1 } else { 0 };
        Self(intid as u64 | (priority as u64) << 48 | group)
    }

    /// Returns the register with this content.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the content.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the same, pending too.
    #[inline]
    pub const fn pending(self) -> Self {
        Self(self.0 | Self::PENDING)
    }

    /// Returns the same, active too.
    #[inline]
    pub const fn active(self) -> Self {
        Self(self.0 | Self::ACTIVE)
    }

    /// Returns the same, bound to a physical interrupt: the guest's deactivation deactivates that
    /// one too.
    #[inline]
    pub const fn hardware(self, physical: u32) -> Self {
        Self(self.0 & !Self::PHYSICAL | Self::HARDWARE | (physical as u64) << 32)
    }

    /// Returns the same, not bound to a physical interrupt; raises a maintenance interrupt when the
    /// guest deactivates it.
    #[inline]
    pub const fn watched(self) -> Self {
        Self(self.0 & !(Self::HARDWARE | Self::PHYSICAL) | Self::EOI)
    }

    /// Returns the same, an SGI from CPU interface `sender` (0 to 7). Only GICv2 tells; not bound
    /// to a physical interrupt.
    #[inline]
    pub const fn sent_by(self, sender: u8) -> Self {
        Self(self.0 & !Self::SENDER | (sender as u64) << Self::SENDER.trailing_zeros())
    }

    /// Returns the CPU interface that sent an SGI, on a GICv2.
    #[inline]
    pub const fn sender(self) -> u8 {
        ((self.0 & Self::SENDER) >> Self::SENDER.trailing_zeros()) as u8
    }

    /// INTID that the guest sees.
    #[inline]
    pub const fn intid(self) -> u32 {
        self.0 as u32
    }

    /// Priority, smaller is more urgent.
    #[inline]
    pub const fn priority(self) -> u8 {
        (self.0 >> 48) as u8
    }

    /// Returns true if the guest sees it as a group 1 interrupt.
    #[cfg(test)]
    pub const fn is_group1(self) -> bool {
        self.0 & Self::GROUP1 != 0
    }

    /// Returns true if the guest has yet to acknowledge it.
    #[inline]
    pub const fn is_pending(self) -> bool {
        self.0 & Self::PENDING != 0
    }

    /// Returns true if the guest has acknowledged it and not yet deactivated it.
    #[inline]
    pub const fn is_active(self) -> bool {
        self.0 & Self::ACTIVE != 0
    }

    /// Returns the bound physical interrupt, if there is one.
    #[inline]
    pub const fn physical(self) -> Option<u32> {
        if self.0 & Self::HARDWARE == 0 {
            return None;
        }
        Some(((self.0 & Self::PHYSICAL) >> 32) as u32)
    }

    /// Returns true if its deactivation raises a maintenance interrupt.
    #[inline]
    pub const fn is_watched(self) -> bool {
        self.0 & (Self::HARDWARE | Self::EOI) == Self::EOI
    }
}

/// The list registers of a VCPU of the PCPU that executes the call.
///
/// They are in the PCPU if the VCPU is loaded there, or kept for it. Changes are effective at
/// the latest when the guest is entered.
pub trait ListRegisters {
    /// Returns the number of list registers, 1 to [`LISTS_MAX`].
    fn count(&self) -> usize;

    /// Lets [`Self::empty`] and [`Self::want_maintenance`] know the writes since the last exception.
    fn synchronise(&self);

    /// Set of registers (bit n: number n) that hold neither an interrupt nor a
    /// deactivation that has yet to be looked at.
    fn empty(&self) -> u32;

    /// Reads register `n`, less than [`Self::count`].
    fn read(&self, n: usize) -> ListRegister;

    /// Writes register `n`, less than [`Self::count`].
    fn write(&self, n: usize, content: ListRegister);

    /// Returns true if a maintenance interrupt is due, or may be.
    fn want_maintenance(&self) -> bool;

    /// Enables or disables a maintenance interrupt while no register is pending.
    fn notify_when_none_pending(&self, on: bool);

    /// Brings the virtual CPU interface to its reset state and enables it: no
    /// interrupt listed, no priority active, groups disabled.
    fn start(&self);

    /// Disables the virtual CPU interface and empties it.
    fn stop(&self);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_that_of_the_architecture() {
        let timer = ListRegister::new(27, 0xa0, true).hardware(27).pending();
        assert_eq!(timer.bits(), 1 << 62 | 1 << 61 | 1 << 60 | 0xa0 << 48 | 27 << 32 | 27);
        let uart = ListRegister::new(33, 0x80, false).watched().active();
        assert_eq!(uart.bits(), 1 << 63 | 0x80 << 48 | 1 << 41 | 33);
    }

    #[test]
    fn a_watched_interrupt_is_no_longer_bound() {
        let bound = ListRegister::new(40, 0, true).hardware(0x1fff).active();
        assert_eq!(bound.physical(), Some(0x1fff));
        assert!(!bound.is_watched());
        let watched = bound.watched();
        assert_eq!(watched.physical(), None);
        assert!(watched.is_watched() && watched.is_active());
    }
}
