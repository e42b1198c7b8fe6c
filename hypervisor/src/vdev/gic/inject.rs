//! Interrupts that arrive for the guest.

use core::sync::atomic::Ordering;

use super::VGic;
use super::bank::bits;
use super::env::{Env, Physical};
use super::list_register::{ListRegister, ListRegisters};
use super::state::State;

impl VGic {
    /// Physical interrupt `intid`, which belongs to this VM, was acknowledged
    /// on the PCPU on which `vcpu` is loaded.
    ///
    /// Its priority must have been dropped; its deactivation is left to the
    /// guest. For private interrupts this is the fast path: no lock.
    #[inline]
    pub fn hardware_interrupt<E: Env>(&self, env: &E, vcpu: usize, intid: u32) {
        if let Some(own) = self.vcpus.get(vcpu)
            && let Some(template) = own.templates.get((intid as usize).wrapping_sub(16))
            && own.direct.load(Ordering::Relaxed)
        {
            let entry = ListRegister::from_bits(template.load(Ordering::Relaxed));
            let free = env.lists().empty();
            if entry != ListRegister::EMPTY {
                // Mostly the first one is free, and needs no search.
                if free & 1 != 0 {
                    return env.lists().write(0, entry);
                }
                if free != 0 {
                    return env.lists().write(free.trailing_zeros() as usize, entry);
                }
            }
        }
        self.hardware_interrupt_locked(env, vcpu, intid);
    }

    #[inline(never)]
    fn hardware_interrupt_locked<E: Env>(&self, env: &E, vcpu: usize, physical: u32) {
        if vcpu >= self.vcpus.len() {
            return;
        }
        let intid = match physical {
            0..32 => physical,
            _ => self.guest_intids.get(physical as usize - 32).map_or(0, |&intid| intid as u32),
        };
        let mut state = self.lock();
        let assigned =
            state.locate(vcpu, intid).filter(|&(at, n)| state.banks[at].hardware >> n & 1 != 0);
        let Some((at, n)) = assigned else {
            // Not ours: it must not stay active for ever.
            drop(state);
            env.set_active(Physical::of(vcpu, physical), false);
            return;
        };
        let bit = 1 << n;
        state.banks[at].pending |= bit;
        // It fired, so that the guest is done with an earlier one.
        for holder in bits(state.holders(at, bit & state.banks[at].listed)) {
            state.banks[at].unlist(bit, holder);
        }
        let direct = self.vcpus[vcpu].direct.load(Ordering::Relaxed);
        if direct && state.banks[at].ready(state.groups, vcpu) & bit != 0 {
            let free = env.lists().empty();
            if free != 0 {
                let entry = state.list_pending(vcpu, intid);
                env.lists().write(free.trailing_zeros() as usize, entry);
                return;
            }
        }
        // If no VCPU can take it, this VCPU returns it to the physical controller.
        let takers = state.takers(at, bit);
        let concerned = if takers == 0 { 1 << vcpu } else { takers };
        self.finish(env, state, Some(vcpu), concerned);
    }

    /// A virtual device asserts or releases the input of shared interrupt
    /// `intid`. From any PCPU.
    pub fn set_line<E: Env>(&self, env: &E, intid: u32, asserted: bool) {
        let mut state = self.lock();
        let Some((at, n)) = state.locate(0, intid).filter(|_| intid >= 32) else { return };
        let bit = 1 << n;
        let bank = &mut state.banks[at];
        if bank.hardware & bit != 0 || (bank.line & bit != 0) == asserted {
            return;
        }
        bank.line ^= bit;
        if asserted {
            bank.pending |= bank.edge & bit;
        }
        let concerned = state.concerned(at, bit);
        self.finish(env, state, env.current(), concerned);
    }

    /// A virtual device signals an event on shared interrupt `intid`, which
    /// becomes pending. From any PCPU.
    pub fn raise<E: Env>(&self, env: &E, intid: u32) {
        let mut state = self.lock();
        let Some((at, n)) = state.locate(0, intid).filter(|_| intid >= 32) else { return };
        let bit = 1 << n;
        if state.banks[at].hardware & bit != 0 {
            return;
        }
        state.banks[at].pending |= bit;
        let concerned = state.concerned(at, bit);
        self.finish(env, state, env.current(), concerned);
    }

    /// Private interrupt `intid` of `vcpu`, which no device of the machine has, becomes pending. From
    /// any PCPU.
    pub fn raise_private<E: Env>(&self, env: &E, vcpu: usize, intid: u32) {
        if vcpu >= self.vcpus.len() || intid >= 32 {
            return;
        }
        let mut state = self.lock();
        let bit = 1 << intid;
        if state.banks[vcpu].hardware & bit != 0 {
            return;
        }
        state.banks[vcpu].pending |= bit;
        let concerned = state.concerned(vcpu, bit);
        self.finish(env, state, env.current(), concerned);
    }

    /// Returns true if physical shared interrupt `intid` belongs to this VM.
    pub fn owns(&self, intid: u32) -> bool {
        let index = (intid as usize).wrapping_sub(32);
        self.guest_intids.get(index).is_some_and(|&guest| guest != 0)
    }

    /// Returns the VCPU to which physical shared interrupt `physical` of this VM goes, if to any.
    pub fn target(&self, physical: u32) -> Option<usize> {
        let state = self.lock();
        let (at, n) = self.locate_physical(&state, physical)?;
        state.first_target(at, n)
    }

    /// Returns bank and bit number of physical shared interrupt `physical` of this VM.
    fn locate_physical(&self, state: &State, physical: u32) -> Option<(usize, usize)> {
        let intid = u32::from(*self.guest_intids.get((physical as usize).wrapping_sub(32))?);
        state.locate(0, intid).filter(|_| intid >= 32)
    }

    /// Serves the notes for `vcpu` of this PCPU, if there are any: brings its list registers up to
    /// date, and unmasks the interrupts of its devices if it executes. Returns the result of
    /// [`Attention::take`](super::Attention::take).
    pub fn attend<E: Env>(&self, env: &E, vcpu: usize) -> Option<bool> {
        let attention = env.attention(vcpu).filter(|_| vcpu < self.vcpus.len())?;
        // Before the state is read: a later change is noted again.
        let notes = attention.take()?;
        let mut state = self.lock();
        if attention.is_running() {
            state.unmask(env, vcpu);
        }
        self.finish(env, state, Some(vcpu), 1 << vcpu);
        Some(notes)
    }

    /// Masks physical shared interrupt `physical` of this VM for `vcpu` of this PCPU, which does not execute, until it
    /// does. The caller lets a VCPU that waits execute, because it may wait for this interrupt.
    pub fn mask<E: Env>(&self, env: &E, vcpu: usize, physical: u32) {
        let mut state = self.lock();
        let Some((at, n)) = self.locate_physical(&state, physical) else { return };
        let Some(masked) = state.banks[at].masked.get_mut(vcpu) else { return };
        *masked |= 1 << n;
        state.update_physical(env, at);
        if let Some(attention) = env.attention(vcpu) {
            attention.tell(false);
        }
    }

    /// The maintenance interrupt of `vcpu`, loaded on this PCPU, fired.
    pub fn maintenance<E: Env>(&self, env: &E, vcpu: usize) {
        if vcpu < self.vcpus.len() {
            let state = self.lock();
            self.finish(env, state, Some(vcpu), 1 << vcpu);
        }
    }

    /// Returns true if `vcpu`, loaded on this PCPU, has an interrupt to take. Serves a due
    /// maintenance interrupt first, which would no longer come when another VCPU is loaded.
    #[inline]
    pub fn has_pending<E: Env>(&self, env: &E, vcpu: usize) -> bool {
        if env.lists().want_maintenance() {
            self.maintenance(env, vcpu);
            env.lists().synchronise();
        }
        self.lists_pending(env, vcpu)
    }

    /// Returns true if `vcpu`, which runs on this PCPU, has an interrupt to take, as far as its
    /// list registers are up to date.
    pub fn is_due<E: Env>(&self, env: &E, vcpu: usize) -> bool {
        env.lists().synchronise();
        self.lists_pending(env, vcpu)
    }

    #[inline(never)]
    fn lists_pending<E: Env>(&self, env: &E, vcpu: usize) -> bool {
        let lists = env.lists();
        let crowded = self.vcpus.get(vcpu).is_some_and(|own| !own.direct.load(Ordering::Relaxed));
        let used = !lists.empty() & ((1 << lists.count()) - 1);
        crowded || bits(used).any(|slot| lists.read(slot).is_pending())
    }
}
