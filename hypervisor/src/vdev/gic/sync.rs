//! Bringing the list registers of a VCPU up to date.
//!
//! First every list register is folded back into the state, then the actives
//! and the most urgent pending interrupts are listed again. Work is bounded by
//! the number of list registers and of interrupts.

use super::bank::bits;
use super::candidates::Candidates;
use super::env::{Env, Physical};
use super::list_register::{LISTS_MAX, ListRegister, ListRegisters};
use super::state::State;

/// The results of folding the list registers, one bit each.
pub(super) struct Folded {
    /// Not empty, though perhaps done with.
    pub used: u32,
    /// Contain an active interrupt, which is still wanted.
    pub active: u32,
    /// VCPUs that can take interrupts that were folded here.
    pub takers: u32,
}

/// The result of [`State::sync`].
pub(super) struct Synced {
    /// Other VCPUs that must bring their list registers up to date.
    pub concerned: u32,
    /// True if there are more interrupts than list registers.
    pub crowded: bool,
}

impl State {
    /// Brings the list registers of `vcpu`, loaded on this PCPU, up to date.
    pub fn sync<E: Env>(&mut self, env: &E, vcpu: usize) -> Synced {
        let lists = env.lists();
        let count = lists.count().min(LISTS_MAX);
        let folded = self.fold(env, vcpu);
        for slot in bits(folded.active) {
            self.keep_active(vcpu, lists.read(slot).intid());
        }
        let mut free = ((1 << count) - 1) & !folded.active;
        let candidates = self.candidates(env, vcpu, free.count_ones() as usize);
        let crowded = candidates.is_short();
        // With a pending interrupt listed, hardware tells when the guest has
        // taken it and there is room. With none, the end of any active one is
        // the first moment for another.
        lists.notify_when_none_pending(crowded && free != 0);
        for slot in bits(folded.active) {
            let entry = lists.read(slot);
            let relisted = self.list_active(vcpu, entry.intid(), crowded);
            let relisted = if crowded && free == 0 { relisted.watched() } else { relisted };
            let relisted = self.keep_sender(vcpu, relisted);
            if relisted != entry {
                lists.write(slot, relisted);
            }
        }
        for intid in candidates.intids() {
            let slot = free.trailing_zeros() as usize;
            free &= free - 1;
            lists.write(slot, self.list_pending(vcpu, intid));
        }
        for slot in bits(free & folded.used) {
            lists.write(slot, ListRegister::EMPTY);
        }
        Synced { concerned: folded.takers & !(1 << vcpu), crowded }
    }

    /// Takes the interrupts in the list registers of `vcpu`, loaded on this
    /// PCPU, back into the state, except those that stay active. The list
    /// registers keep their content.
    pub fn fold<E: Env>(&mut self, env: &E, vcpu: usize) -> Folded {
        let lists = env.lists();
        let mut folded = Folded { used: 0, active: 0, takers: 0 };
        self.settling &= !(1 << vcpu);
        for slot in 0..lists.count().min(LISTS_MAX) {
            let entry = lists.read(slot);
            if entry == ListRegister::EMPTY {
                continue;
            }
            folded.used |= 1 << slot;
            if self.fold_one(env, vcpu, entry, &mut folded.takers) {
                folded.active |= 1 << slot;
            }
        }
        self.banks[vcpu].cancelled = 0;
        self.banks[vcpu].released = 0;
        // The guest is done with the rest; its list registers may hold others by now.
        for at in core::iter::once(vcpu).chain(self.vcpus..self.banks.len()) {
            let done = self.banks[at].held[vcpu];
            if done != 0 {
                self.banks[at].unlist(done, vcpu);
                folded.takers |= self.takers(at, done);
            }
        }
        folded
    }

    /// Folds one interrupt back. Returns true if it stays active.
    fn fold_one<E: Env>(
        &mut self,
        env: &E,
        vcpu: usize,
        entry: ListRegister,
        takers: &mut u32,
    ) -> bool {
        let Some((at, n)) = self.locate(vcpu, entry.intid()) else { return false };
        let physical = self.physical(at, n);
        let bit = 1 << n;
        let bank = &mut self.banks[at];
        let hardware = bank.hardware & bit != 0;
        if !(entry.is_pending() || entry.is_active()) {
            // The guest is done with it. It may have fired again since, here
            // or elsewhere: only what this register stood for ends.
            if hardware && entry.is_watched() {
                env.set_active(physical, false);
            }
            return false;
        }
        let pending = entry.is_pending() && bank.cancelled & bit == 0;
        let active = entry.is_active() && bank.released & bit == 0;
        let latched = hardware || bank.latched & bit != 0;
        bank.cancelled &= !bit;
        bank.released &= !bit;
        bank.unlist(bit, vcpu);
        if pending && latched {
            bank.pending |= bit;
            self.return_sender(at, n, entry);
        }
        if hardware && !pending && !active {
            env.set_active(physical, false);
        }
        if !active {
            *takers |= self.takers(at, bit);
        }
        active
    }

    /// Notes that an active interrupt stays in its list register.
    fn keep_active(&mut self, vcpu: usize, intid: u32) {
        if let Some((at, n)) = self.locate(vcpu, intid) {
            self.banks[at].list_active(1 << n, vcpu);
        }
    }

    /// List register for an active interrupt that stays in it.
    ///
    /// If it is pending again, both go into the list register. Not so when
    /// interrupts wait for one: it then competes with them.
    fn list_active(&mut self, vcpu: usize, intid: u32, crowded: bool) -> ListRegister {
        let Some((at, n)) = self.locate(vcpu, intid) else { return ListRegister::EMPTY };
        let groups = self.groups;
        let entry = self.compose(at, n, intid).active();
        let bit = 1 << n;
        let senders = self.senders_of(at, n).is_some();
        let bank = &mut self.banks[at];
        if bank.hardware & bit != 0 {
            return entry;
        }
        let again = bank.pending & bank.deliverable(groups) & bank.targets[vcpu] & bit != 0;
        // Somebody has to act when the guest is done with it. So too for an SGI of a GICv2, which
        // may have another sender.
        let again = again && !crowded && !senders;
        let waits = bank.pending & bit != 0 && !again;
        let entry = if waits || bank.asserted() & bit != 0 { entry.watched() } else { entry };
        if again {
            bank.list_pending(bit, vcpu);
            return entry.pending();
        }
        entry
    }

    /// List register for a pending interrupt.
    pub fn list_pending(&mut self, vcpu: usize, intid: u32) -> ListRegister {
        let Some((at, n)) = self.locate(vcpu, intid) else { return ListRegister::EMPTY };
        let entry = self.compose(at, n, intid).pending();
        let bank = &mut self.banks[at];
        bank.list_pending(1 << n, vcpu);
        // A level that stays asserted must be delivered again.
        let again = bank.asserted() & !bank.hardware & 1 << n != 0;
        let entry = if again { entry.watched() } else { entry };
        self.list_sender(at, n, entry)
    }

    /// List register for an interrupt, neither pending nor active.
    pub fn compose(&self, at: usize, n: usize, intid: u32) -> ListRegister {
        let bank = &self.banks[at];
        let entry = ListRegister::new(intid, bank.priority[n], bank.group1 >> n & 1 != 0);
        if bank.hardware >> n & 1 == 0 {
            return entry;
        }
        match self.physical(at, n) {
            Physical::Private { intid, .. } | Physical::Shared { intid } => entry.hardware(intid),
        }
    }

    /// Returns the most urgent interrupts for `vcpu` that are in no list register.
    fn candidates<E: Env>(&mut self, env: &E, vcpu: usize, room: usize) -> Candidates {
        let mut candidates = Candidates::new(room);
        let vcpus = self.vcpus;
        for at in core::iter::once(vcpu).chain(vcpus..self.banks.len()) {
            let bank = &self.banks[at];
            if bank.pending | bank.asserted() == 0 {
                continue;
            }
            let stuck = bank.pending & bank.hardware & !bank.deliverable(self.groups);
            let ready = bank.ready(self.groups, vcpu);
            let first = self.first_intid(at) as u32;
            for n in bits(ready) {
                candidates.offer(first + n as u32, self.banks[at].priority[n]);
            }
            for n in bits(stuck) {
                self.give_back(env, at, n);
            }
        }
        candidates
    }
}
