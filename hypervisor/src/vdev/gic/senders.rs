//! The senders of the SGIs of a VCPU. On a GICv2 the guest sees the sender, and the same SGI from
//! two senders is two interrupts: the second one goes into the list register when the guest is done
//! with the first.

use super::list_register::ListRegister;
use super::state::State;

/// Number of SGIs.
pub(super) const SGIS: usize = 16;

/// The senders of a VCPU's SGIs, on a GICv2.
#[derive(Clone, Debug, Default)]
pub(super) struct Senders {
    /// For each SGI the VCPUs from which it is pending and not in a list register, as a set. The
    /// bank's `pending` has the SGIs for which there is one.
    pub pending: [u8; SGIS],
    /// The sender of the SGI that is, or was last, in a list register.
    pub listed: [u8; SGIS],
}

impl State {
    /// Returns the senders of interrupt `n` of a bank, if it is an SGI of a GICv2.
    pub fn senders_of(&mut self, bank: usize, n: usize) -> Option<&mut Senders> {
        self.senders.get_mut(bank).filter(|_| n < SGIS)
    }

    /// Completes the list register of an SGI that becomes pending there with one of its senders. If there are
    /// more, it stays pending in the state, and its end is watched.
    pub fn list_sender(&mut self, bank: usize, n: usize, entry: ListRegister) -> ListRegister {
        let Some(senders) = self.senders_of(bank, n) else { return entry };
        let sender = senders.pending[n].trailing_zeros() as u8 & 7;
        senders.pending[n] &= !(1 << sender);
        senders.listed[n] = sender;
        if senders.pending[n] == 0 {
            return entry.sent_by(sender);
        }
        self.banks[bank].pending |= 1 << n;
        entry.watched().sent_by(sender)
    }

    /// Completes the list register of an SGI that stays active there.
    pub fn keep_sender(&mut self, vcpu: usize, entry: ListRegister) -> ListRegister {
        let n = entry.intid() as usize;
        match self.senders_of(vcpu, n) {
            Some(senders) => entry.sent_by(senders.listed[n]),
            None => entry,
        }
    }

    /// A pending SGI is taken out of its list register.
    pub fn return_sender(&mut self, bank: usize, n: usize, entry: ListRegister) {
        if let Some(senders) = self.senders_of(bank, n) {
            senders.pending[n] |= 1 << entry.sender();
        }
    }

    /// An SGI becomes pending from these VCPUs.
    pub fn add_senders(&mut self, vcpu: usize, n: usize, from: u8) {
        let from = from & ((1_u32 << self.vcpus) - 1) as u8;
        if let Some(senders) = self.senders_of(vcpu, n)
            && from != 0
        {
            senders.pending[n] |= from;
            self.banks[vcpu].pending |= 1 << n;
        }
    }

    /// An SGI is not pending any more from these VCPUs.
    pub fn remove_senders(&mut self, vcpu: usize, n: usize, from: u8) {
        let Some(senders) = self.senders_of(vcpu, n) else { return };
        senders.pending[n] &= !from;
        let (none, listed) = (senders.pending[n] == 0, from >> senders.listed[n] & 1 != 0);
        let bank = &mut self.banks[vcpu];
        if none {
            bank.pending &= !(1 << n);
        }
        if listed {
            bank.cancelled |= 1 << n;
        }
    }

    /// Returns the CPU interfaces with a pending SGI, as of the last sync of the list registers.
    pub fn senders(&mut self, vcpu: usize, n: usize) -> u8 {
        let latched = self.banks[vcpu].latched >> n & 1 != 0;
        self.senders_of(vcpu, n)
            .map_or(0, |senders| senders.pending[n] | u8::from(latched) << senders.listed[n])
    }

    /// VCPU `vcpu` stops: none of its SGIs is pending.
    pub fn forget_senders(&mut self, vcpu: usize) {
        if let Some(senders) = self.senders.get_mut(vcpu) {
            *senders = Senders::default();
        }
    }

    /// One VCPU for each byte of a register, in which a bit stands for each.
    pub fn targets(&self, bank: usize, n: usize) -> u8 {
        let targets = self.banks[bank].targets.iter().enumerate();
        targets.fold(0, |set, (vcpu, targets)| set | ((targets >> n & 1) as u8) << vcpu)
    }
}
