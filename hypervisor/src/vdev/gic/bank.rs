//! The state of 32 interrupts.

use super::VCPUS_MAX;

/// 32 interrupts with consecutive INTIDs, one bit each.
///
/// A bank is either private to a VCPU (INTIDs 0 to 31) or shared.
#[derive(Clone, Debug)]
pub(super) struct Bank {
    /// Interrupts that exist.
    pub implemented: u32,
    /// Interrupts with a physical interrupt behind them.
    pub hardware: u32,
    /// GICD_ISENABLER.
    pub enabled: u32,
    /// GICD_IGROUPR.
    pub group1: u32,
    /// Edge-triggered (GICD_ICFGR), otherwise level-sensitive.
    pub edge: u32,
    /// Latched pending and not in a list register. A `hardware` interrupt here
    /// was acknowledged by us and is physically active.
    pub pending: u32,
    /// Level of the input of virtual devices.
    pub line: u32,
    /// Active and not in a list register.
    pub active: u32,
    /// Interrupts in a list register, as of the last sync: the guest may be done with them. Private ones may be
    /// in a list register without this bit.
    pub listed: u32,
    /// Interrupts of `listed` that were active at the last sync.
    pub listed_active: u32,
    /// Interrupts of `listed` whose pending state in the list register is a latched one
    /// that must return to `pending` when the register is emptied.
    pub latched: u32,
    /// The pending state in the list register is no longer wanted.
    pub cancelled: u32,
    /// The active state in the list register is no longer wanted.
    pub released: u32,
    /// Interrupts of `hardware` that are enabled in the physical controller.
    pub physical: u32,
    /// For each VCPU the interrupts of `hardware` that are masked in the physical controller while they are routed to it,
    /// until it executes.
    pub masked: [u32; VCPUS_MAX],
    /// GICD_IPRIORITYR.
    pub priority: [u8; 32],
    /// For each VCPU the interrupts that are routed to it.
    pub targets: [u32; VCPUS_MAX],
    /// For each VCPU those of `listed` that are in its list registers.
    pub held: [u32; VCPUS_MAX],
}

impl Bank {
    /// Returns the private interrupts of `vcpu` after reset.
    pub fn private(vcpu: usize, hardware: u32) -> Self {
        // SGIs are edges, PPIs are levels.
        Self { edge: 0xffff, ..Self::new(u32::MAX, hardware, vcpu) }
    }

    /// Shared interrupts after reset, all routed to VCPU 0.
    pub fn shared(implemented: u32, hardware: u32) -> Self {
        Self::new(implemented, hardware, 0)
    }

    fn new(implemented: u32, hardware: u32, vcpu: usize) -> Self {
        let mut targets = [0; VCPUS_MAX];
        targets[vcpu] = u32::MAX;
        Self {
            implemented,
            hardware,
            enabled: 0,
            group1: 0,
            edge: 0,
            pending: 0,
            line: 0,
            active: 0,
            listed: 0,
            listed_active: 0,
            latched: 0,
            cancelled: 0,
            released: 0,
            physical: 0,
            masked: [0; VCPUS_MAX],
            priority: [0; 32],
            targets,
            held: [0; VCPUS_MAX],
        }
    }

    /// Pending because of the input alone.
    #[inline]
    pub fn asserted(&self) -> u32 {
        self.line & !self.edge
    }

    /// Enabled, and the group is enabled (`groups`: see [`super::state::Groups`]).
    #[inline]
    pub fn deliverable(&self, groups: super::state::Groups) -> u32 {
        self.enabled & (self.group1 & groups.one | !self.group1 & groups.zero)
    }

    /// Routed to somebody, and not masked there.
    #[inline]
    pub fn sent(&self) -> u32 {
        let all = self.masked.iter().zip(&self.targets);
        let (routed, masked) = all.fold((0, 0), |(routed, held), (masked, targets)| {
            (routed | targets, held | masked & targets)
        });
        routed & !masked
    }

    /// Could be put into a list register of `vcpu`.
    #[inline]
    pub fn ready(&self, groups: super::state::Groups, vcpu: usize) -> u32 {
        self.takable(groups) & self.targets[vcpu] & !self.listed
    }

    /// Returns the same for any VCPU, if the guest is done with all that is in list registers.
    #[inline]
    pub fn takable(&self, groups: super::state::Groups) -> u32 {
        (self.pending | self.asserted()) & self.deliverable(groups) & !self.active
    }

    /// Notes that the interrupt in bit `bit`, which is not listed, goes into a
    /// list register of `vcpu` as pending; its latch moves there.
    #[inline]
    pub fn list_pending(&mut self, bit: u32, vcpu: usize) {
        self.latched = self.latched & !bit | self.pending & bit;
        self.pending &= !bit;
        self.listed |= bit;
        self.held[vcpu] |= bit;
        self.cancelled &= !bit;
        self.released &= !bit;
    }

    /// Notes that the interrupt in bit `bit` stays active in a list register of `vcpu`.
    #[inline]
    pub fn list_active(&mut self, bit: u32, vcpu: usize) {
        self.listed |= bit;
        self.listed_active |= bit;
        self.held[vcpu] |= bit;
    }

    /// Notes that interrupts are not in list registers of `vcpu`, which held them.
    #[inline]
    pub fn unlist(&mut self, set: u32, vcpu: usize) {
        self.listed &= !set;
        self.listed_active &= !set;
        self.latched &= !set;
        self.held[vcpu] &= !set;
    }
}

/// Returns the numbers of the bits in `set`, lowest first.
#[inline]
pub(super) fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let bit = set.trailing_zeros();
        set &= set - 1;
        Some(bit as usize)
    })
}
