//! The interrupt state of one VM, kept under its lock.

use alloc::vec;
use alloc::vec::Vec;

use super::VCPUS_MAX;
use super::attention::{Attention, Place};
use super::bank::{Bank, bits};
use super::config::{ConfigError, GicConfig};
use super::env::{Env, Physical};
use super::senders::Senders;
use super::table::Table;

/// The groups that the distributor forwards: all bits set if it does.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Groups {
    /// GICD_CTLR.EnableGrp0.
    pub zero: u32,
    /// GICD_CTLR.EnableGrp1.
    pub one: u32,
}

/// The state of a shared interrupt outside of its bank.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// GICD_IROUTER.
    pub router: u64,
    /// Physical INTID; meaningful if its bit is set in the bank's `hardware`.
    pub physical: u16,
}

/// Interrupt state of a VM.
#[derive(Debug)]
pub(super) struct State {
    /// Forwarded groups.
    pub groups: Groups,
    /// VCPUs that are started.
    pub online: u32,
    /// Started VCPUs that have yet to withdraw an interrupt.
    pub settling: u32,
    /// Redistributors that sleep (GICR_WAKER.ProcessorSleep).
    pub asleep: u32,
    /// Number of VCPUs.
    pub vcpus: usize,
    /// The private bank of each VCPU, then the shared banks.
    pub banks: Table<Bank>,
    /// Shared interrupts from INTID 32.
    pub shared: Table<Shared>,
    /// Senders of SGIs, for each VCPU; none on a GICv3.
    pub senders: Table<Senders>,
}

impl State {
    /// Returns the state after reset.
    pub fn new(config: &GicConfig) -> Result<Self, ConfigError> {
        if !(1..=VCPUS_MAX).contains(&config.vcpus) {
            return Err(ConfigError::Vcpus(config.vcpus));
        }
        if config.spis > 988 {
            return Err(ConfigError::Spis(config.spis));
        }
        let shared_banks = config.spis.div_ceil(32) as usize;
        let private = config.private_set()?;
        let mut banks = Vec::with_capacity(config.vcpus + shared_banks);
        for vcpu in 0..config.vcpus {
            banks.push(Bank::private(vcpu, private));
        }
        for _ in 0..shared_banks {
            banks.push(Bank::shared(u32::MAX, 0));
        }
        if shared_banks == 31
            && let Some(last) = banks.last_mut()
        {
            // INTIDs from 1020 are special.
            last.implemented = u32::MAX >> 4;
        }
        let shared = vec![Shared { router: 0, physical: 0 }; 32 * shared_banks];
        let mut state = Self {
            groups: Groups::default(),
            online: 0,
            settling: 0,
            asleep: u32::MAX,
            vcpus: config.vcpus,
            banks: banks.into(),
            shared: shared.into(),
            senders: vec![Senders::default(); if config.v2 { config.vcpus } else { 0 }].into(),
        };
        for &(intid, physical) in config.shared {
            let (bank, n) = state.locate(0, intid).ok_or(ConfigError::Intid(intid))?;
            if state.banks[bank].hardware >> n & 1 != 0 {
                return Err(ConfigError::Twice(intid));
            }
            state.banks[bank].hardware |= 1 << n;
            state.shared[intid as usize - 32].physical = physical as u16;
        }
        Ok(state)
    }

    /// Returns bank and bit number of an interrupt for VCPU `vcpu`.
    #[inline(never)]
    pub fn locate(&self, vcpu: usize, intid: u32) -> Option<(usize, usize)> {
        let n = intid as usize % 32;
        let bank = match intid as usize / 32 {
            0 => vcpu,
            shared => self.vcpus + shared - 1,
        };
        (bank < self.banks.len() && self.banks[bank].implemented >> n & 1 != 0).then_some((bank, n))
    }

    /// INTID of bit 0 of a bank.
    #[inline]
    pub fn first_intid(&self, bank: usize) -> usize {
        if bank < self.vcpus { 0 } else { (bank - self.vcpus + 1) * 32 }
    }

    /// Returns the entry of a shared interrupt; `None` for private ones.
    #[inline]
    pub fn shared_of(&mut self, bank: usize, n: usize) -> Option<&mut Shared> {
        let index = bank.checked_sub(self.vcpus)? * 32 + n;
        self.shared.get_mut(index)
    }

    /// Returns the physical interrupt behind a `hardware` interrupt.
    #[inline(never)]
    pub fn physical(&self, bank: usize, n: usize) -> Physical {
        if bank < self.vcpus {
            return Physical::Private { vcpu: bank, intid: n as u32 };
        }
        let physical = self.shared.get((bank - self.vcpus) * 32 + n).map_or(0, |s| s.physical);
        Physical::Shared { intid: physical as u32 }
    }

    /// Enables in the physical controller the interrupts that the guest can receive now, and
    /// disables the rest.
    pub fn update_physical<E: Env>(&mut self, env: &E, bank: usize) {
        let own = &self.banks[bank];
        let wanted = own.hardware & own.deliverable(self.groups) & own.sent();
        let changed = wanted ^ self.banks[bank].physical;
        self.banks[bank].physical = wanted;
        for n in bits(changed) {
            env.set_enabled(self.physical(bank, n), wanted >> n & 1 != 0);
        }
    }

    /// Returns the VCPU to which the physical interrupt behind a shared one is sent, if to any.
    pub fn first_target(&self, bank: usize, n: usize) -> Option<usize> {
        self.banks[bank].targets.iter().take(self.vcpus).position(|set| set >> n & 1 != 0)
    }

    /// Sends a shared interrupt (bank and number) to one of these VCPUs, one bit each, or to nobody, on behalf of `vcpu`. The
    /// physical one behind it goes to the first of them. Returns the VCPUs concerned.
    #[inline(never)]
    pub fn send_to<E: Env>(
        &mut self,
        env: &E,
        vcpu: usize,
        (at, n): (usize, usize),
        targets: u8,
    ) -> u32 {
        let bit = 1 << n;
        let physical = self.physical(at, n);
        let bank = &mut self.banks[at];
        for (target, set) in bank.targets.iter_mut().take(self.vcpus).enumerate() {
            *set = *set & !bit | u32::from(targets >> target & 1) << n;
        }
        if bank.physical & bit != 0 {
            // It may be masked for the new target, to which it must not come before that is effective.
            bank.physical &= !bit;
            env.set_enabled(physical, false);
            env.settle();
        }
        let first = targets.trailing_zeros() as usize;
        if bank.hardware & bit != 0
            && first < self.vcpus
            && let Physical::Shared { intid } = physical
        {
            env.set_target(intid, first);
        }
        self.update_physical(env, at);
        self.withdraw(at, bit, vcpu) | self.takers(at, bit)
    }

    /// A VCPU executes: interrupts of devices that were masked because it did not may come again.
    pub fn unmask<E: Env>(&mut self, env: &E, vcpu: usize) {
        for bank in self.vcpus..self.banks.len() {
            let masked = self.banks[bank].masked.get_mut(vcpu).map(core::mem::take);
            if masked.is_some_and(|masked| masked != 0) {
                self.update_physical(env, bank);
            }
        }
    }

    /// VCPUs whose list registers may contain one of the interrupts `set`.
    #[inline(never)]
    pub fn holders(&self, bank: usize, set: u32) -> u32 {
        if bank < self.vcpus {
            return if set != 0 { 1 << bank } else { 0 };
        }
        let held = self.banks[bank].held.iter().enumerate();
        held.filter(|(_, held)| *held & set != 0).fold(0, |holders, (vcpu, _)| holders | 1 << vcpu)
    }

    /// VCPUs that can now take one of the interrupts `set`.
    #[inline(never)]
    pub fn takers(&self, bank: usize, set: u32) -> u32 {
        let state = &self.banks[bank];
        if set & (state.pending | state.asserted()) == 0 {
            return 0;
        }
        (0..self.vcpus.min(VCPUS_MAX))
            .filter(|&vcpu| state.ready(self.groups, vcpu) & set != 0)
            .fold(0, |takers, vcpu| takers | 1 << vcpu)
    }

    /// Returns the VCPUs that must examine the interrupts `set` because they became pending: those
    /// that hold them in a list register, otherwise those that can take them.
    pub fn concerned(&self, bank: usize, set: u32) -> u32 {
        let listed = self.banks[bank].listed & set;
        let holders = if listed != 0 { self.holders(bank, listed) } else { 0 };
        holders | self.takers(bank, set)
    }

    /// Notes with these VCPUs of other PCPUs that they are concerned; returns those whose PCPUs are to be
    /// kicked.
    #[inline(never)]
    pub fn call<E: Env>(&self, env: &E, others: u32) -> u32 {
        let mut kicked = 0;
        for vcpu in bits(others) {
            let Some(attention) = env.attention(vcpu) else { continue };
            if attention.call(|place| self.can_take(vcpu, place)) {
                kicked |= 1 << vcpu;
            }
        }
        kicked
    }

    /// Started VCPUs that execute and have yet to withdraw an interrupt. One that does not execute has done so
    /// before it does.
    pub fn unsettled<E: Env>(&self, env: &E) -> u32 {
        let runs = |&vcpu: &usize| env.attention(vcpu).is_some_and(Attention::is_running);
        bits(self.settling).filter(runs).fold(0, |set, vcpu| set | 1 << vcpu)
    }

    /// Returns true if a VCPU that waits can have an interrupt to take, or holds one that another VCPU deactivated: it
    /// keeps the physical controller from sending that one, and those that can take it now from getting it. Of what is
    /// listed it may be done with all, unless it was looked at since; then another VCPU may get what it seems to hold.
    fn can_take(&self, vcpu: usize, place: Place) -> bool {
        let shared = self.banks.get(self.vcpus..).unwrap_or_default();
        let ready = |bank: &Bank| {
            let ended = bank.released & (bank.hardware | bank.takable(self.groups));
            match place {
                Place::Settled => bank.ready(self.groups, vcpu) | ended & bank.held[vcpu],
                _ => (bank.takable(self.groups) | ended) & (bank.targets[vcpu] | bank.held[vcpu]),
            }
        };
        ready(&self.banks[vcpu]) != 0 || shared.iter().any(|bank| ready(bank) != 0)
    }

    /// Undoes the acknowledgement of a physical interrupt that will not be
    /// delivered now: it returns to the physical controller.
    pub fn give_back<E: Env>(&mut self, env: &E, bank: usize, n: usize) {
        let physical = self.physical(bank, n);
        let state = &mut self.banks[bank];
        state.pending &= !(1 << n);
        // An edge, or a state that the guest made pending, would be lost. It is not set if the
        // interrupt is pending anyway, so that a level follows its input.
        if !env.is_pending(physical) {
            env.set_pending(physical, true);
        }
        if state.active >> n & 1 == 0 {
            env.set_active(physical, false);
        }
    }
}
