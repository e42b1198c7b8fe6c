//! Writing the registers that have a field for each interrupt.

use core::sync::atomic::Ordering;

use super::VGic;
use super::bank::bits;
use super::env::{Env, Physical};
use super::mmio::Banked;
use super::senders::SGIS;
use super::state::State;
use crate::lock::MutexGuard;

/// Priority bits that are implemented: as many as every virtual CPU interface has.
const PRIORITY_MASK: u8 = 0xf8;

impl VGic {
    /// Writes a register of bank `at`.
    pub(super) fn write_bank<E: Env>(
        &self,
        env: &E,
        vcpu: usize,
        at: usize,
        register: Banked,
        bytes: usize,
        value: u32,
    ) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let set = value & state.banks[at].implemented;
        let concerned = match register {
            Banked::SetEnable => {
                let changed = set & !state.banks[at].enabled;
                state.banks[at].enabled |= changed;
                state.update_physical(env, at);
                state.concerned(at, changed)
            }
            Banked::ClearEnable => {
                let changed = set & state.banks[at].enabled;
                state.banks[at].enabled &= !changed;
                state.update_physical(env, at);
                state.withdraw(at, changed, vcpu)
            }
            Banked::Group => {
                let changed = (state.banks[at].group1 ^ value) & state.banks[at].implemented;
                state.banks[at].group1 ^= changed;
                state.update_physical(env, at);
                self.refresh_private(state, at);
                state.withdraw(at, changed, vcpu) | state.takers(at, changed)
            }
            Banked::SetPending => state.set_pending(env, at, state.pendable(at, set)),
            Banked::ClearPending => {
                let set = state.pendable(at, set);
                if set & state.banks[at].hardware != 0 {
                    self.take_lock_for(at);
                }
                state.clear_pending(env, at, set, vcpu)
            }
            Banked::SetActive => return self.set_active(env, guard, vcpu, at, set),
            Banked::ClearActive => state.clear_active(env, at, set, vcpu),
            Banked::Priority(first) => {
                let priorities = state.banks[at].priority.iter_mut().skip(first).take(bytes);
                for (priority, byte) in priorities.zip(value.to_le_bytes()) {
                    *priority = byte & PRIORITY_MASK;
                }
                self.refresh_private(state, at);
                0
            }
            Banked::Trigger(first) => state.set_trigger(env, at, first, value),
        };
        self.finish(env, guard, Some(vcpu), concerned);
    }

    /// Sends the private interrupts of the owner of bank `at` on the path with the lock until the
    /// owner has looked. The other path cannot tell what came after a clearing from what was
    /// cleared.
    fn take_lock_for(&self, at: usize) {
        if let Some(owner) = self.vcpus.get(at) {
            owner.direct.store(false, Ordering::Relaxed);
        }
    }

    /// Refreshes the values derived from the private bank `at`; does nothing for a shared one.
    fn refresh_private(&self, state: &State, at: usize) {
        if at < self.vcpus.len() {
            self.refresh_templates(state, at);
        }
    }

    /// ISACTIVER. Listed interrupts do not change; the writer's own list registers are read first,
    /// so that only unfinished interrupts count as listed.
    fn set_active<E: Env>(
        &self,
        env: &E,
        mut state: MutexGuard<'_, State>,
        vcpu: usize,
        at: usize,
        set: u32,
    ) {
        let concerned = self.sync(env, &mut state, vcpu);
        let set = set & !state.banks[at].listed & !state.banks[at].active;
        for n in bits(set & state.banks[at].hardware) {
            env.set_active(state.physical(at, n), true);
        }
        state.banks[at].active |= set;
        self.finish(env, state, Some(vcpu), concerned);
    }
}

impl State {
    /// Returns the VCPUs that must examine interrupts which can no longer be delivered in their
    /// current state; those other than `vcpu` count as settling until they have done so.
    #[inline(never)]
    pub fn withdraw(&mut self, at: usize, set: u32, vcpu: usize) -> u32 {
        let holders = self.holders(at, set);
        self.settling |= holders & self.online & !(1 << vcpu);
        // The VCPU that examines a physical interrupt that EL2 owns gives it back.
        let stuck = set & self.banks[at].pending & self.banks[at].hardware != 0;
        holders | if stuck { 1 << vcpu } else { 0 }
    }

    /// Returns those of the interrupts of a bank that ISPENDR and ICPENDR change: not the SGIs of a GICv2, of
    /// which they do not name the sender.
    fn pendable(&self, at: usize, set: u32) -> u32 {
        if at < self.senders.len() { set >> SGIS << SGIS } else { set }
    }

    /// ISPENDR.
    fn set_pending<E: Env>(&mut self, env: &E, at: usize, set: u32) -> u32 {
        let hardware = self.banks[at].hardware;
        for n in bits(set & hardware & !self.banks[at].pending) {
            env.set_pending(self.physical(at, n), true);
        }
        self.banks[at].pending |= set & !hardware;
        self.pended(at, set & !hardware)
    }

    /// VCPUs that must look at interrupts whose latch was set. Private ones may
    /// be listed without `listed`: their owner always looks.
    fn pended(&self, at: usize, set: u32) -> u32 {
        if at < self.vcpus { self.holders(at, set) } else { self.concerned(at, set) }
    }

    /// ICPENDR.
    fn clear_pending<E: Env>(&mut self, env: &E, at: usize, set: u32, vcpu: usize) -> u32 {
        for n in bits(set & self.banks[at].hardware) {
            let physical = self.physical(at, n);
            env.set_pending(physical, false);
            self.end_physical(env, at, n, physical, self.banks[at].active);
        }
        let bank = &mut self.banks[at];
        bank.pending &= !set;
        bank.cancelled |= if at < self.vcpus { set } else { set & bank.listed };
        self.withdraw(at, set, vcpu)
    }

    /// ICACTIVER.
    fn clear_active<E: Env>(&mut self, env: &E, at: usize, set: u32, vcpu: usize) -> u32 {
        for n in bits(set & self.banks[at].hardware & self.banks[at].active) {
            let physical = self.physical(at, n);
            if self.banks[at].pending >> n & 1 == 0 {
                env.set_active(physical, false);
            }
        }
        let bank = &mut self.banks[at];
        bank.active &= !set;
        bank.released |= if at < self.vcpus { set } else { set & bank.listed };
        self.withdraw(at, set, vcpu) | self.takers(at, set)
    }

    /// Ends the acknowledgement of a physical interrupt that is pending in our
    /// hands, unless it is also active.
    fn end_physical<E: Env>(&self, env: &E, at: usize, n: usize, physical: Physical, active: u32) {
        if self.banks[at].pending & !active & 1 << n != 0 {
            env.set_active(physical, false);
        }
    }

    /// ICFGR: 16 interrupts from number `first` of the bank.
    fn set_trigger<E: Env>(&mut self, env: &E, at: usize, first: usize, value: u32) -> u32 {
        if at < self.vcpus {
            return 0;
        }
        let bank = &mut self.banks[at];
        let edge = odd_bits(value) << first;
        let changed = (bank.edge ^ edge) & 0xffff << first & bank.implemented;
        bank.edge ^= changed;
        let physical = changed & bank.hardware;
        if physical != 0 {
            env.settle();
        }
        for n in bits(physical) {
            if let Physical::Shared { intid } = self.physical(at, n) {
                env.set_edge_triggered(intid, edge >> n & 1 != 0);
            }
        }
        self.concerned(at, changed)
    }
}

/// Returns the odd bits of a value, next to each other.
fn odd_bits(value: u32) -> u32 {
    let pairs = value >> 1 & 0x5555_5555;
    let pairs = (pairs | pairs >> 1) & 0x3333_3333;
    let nibbles = (pairs | pairs >> 2) & 0x0f0f_0f0f;
    let bytes = (nibbles | nibbles >> 4) & 0x00ff_00ff;
    (bytes | bytes >> 8) & 0xffff
}
