//! Start, stop and reset.

use core::sync::atomic::Ordering;

use super::VGic;
use super::bank::{Bank, bits};
use super::env::{Env, Physical};
use super::list_register::{LISTS_MAX, ListRegister, ListRegisters};
use super::state::{Groups, State};

impl VGic {
    /// `vcpu` starts on this PCPU and is loaded there.
    ///
    /// Its virtual CPU interface is in its reset state afterwards, and lists
    /// what is already pending for it.
    pub fn start_vcpu<E: Env>(&self, env: &E, vcpu: usize) {
        let Some(attention) = env.attention(vcpu) else { return };
        env.lists().start();
        attention.take();
        let mut state = self.lock();
        state.online |= 1 << vcpu;
        state.update_physical(env, vcpu);
        // The note of that was taken, too.
        state.unmask(env, vcpu);
        self.finish(env, state, Some(vcpu), 1 << vcpu);
    }

    /// `vcpu`, loaded on this PCPU, stops and is started again at most from
    /// its entry point.
    ///
    /// Its private interrupts are reset; shared ones keep their state. No
    /// physical interrupt stays active for it, save shared ones that it had
    /// acknowledged: those end as the guest's other VCPUs or [`Self::reset`] say.
    pub fn stop_vcpu<E: Env>(&self, env: &E, vcpu: usize) {
        let Some(own) = self.vcpus.get(vcpu) else { return };
        let mut state = self.lock();
        let lists = env.lists();
        own.direct.store(false, Ordering::Relaxed);
        let folded = state.fold(env, vcpu);
        for slot in bits(folded.active) {
            if let Some((at, n)) = state.locate(vcpu, lists.read(slot).intid()) {
                state.banks[at].active |= 1 << n;
            }
        }
        for slot in 0..lists.count().min(LISTS_MAX) {
            lists.write(slot, ListRegister::EMPTY);
        }
        lists.stop();
        state.online &= !(1 << vcpu);
        state.asleep |= 1 << vcpu;
        state.reset_bank(env, vcpu);
        self.refresh_templates(&state, vcpu);
        self.finish(env, state, None, folded.takers);
    }

    /// Brings the interrupt controller to its reset state, and the physical
    /// interrupts behind it: disabled, level, sent to VCPU 0. To be called before
    /// a VM starts or restarts, with all VCPUs stopped. The inputs of virtual devices keep their level.
    pub fn reset<E: Env>(&self, env: &E) {
        let mut state = self.lock();
        state.groups = Groups::default();
        state.settling = 0;
        state.asleep = u32::MAX;
        for at in 0..state.banks.len() {
            state.reset_bank(env, at);
        }
        for vcpu in 0..self.vcpus.len() {
            self.refresh_templates(&state, vcpu);
        }
    }
}

impl State {
    /// Brings a bank of which nothing is in a list register to its reset
    /// state, and the physical interrupts behind it.
    fn reset_bank<E: Env>(&mut self, env: &E, at: usize) {
        let private = at < self.vcpus;
        self.forget_senders(at);
        let bank = &mut self.banks[at];
        let (hardware, acknowledged) = (bank.hardware, bank.pending | bank.active);
        let new = if private {
            Bank::private(at, hardware)
        } else {
            Bank::shared(bank.implemented, hardware)
        };
        *bank = Bank { line: bank.line, physical: bank.physical, ..new };
        self.update_physical(env, at);
        if !private && hardware != 0 {
            env.settle();
        }
        for n in bits(hardware) {
            let physical = self.physical(at, n);
            env.set_pending(physical, false);
            if acknowledged >> n & 1 != 0 {
                env.set_active(physical, false);
            }
            if let Physical::Shared { intid } = physical {
                env.set_edge_triggered(intid, false);
                env.set_target(intid, 0);
            }
        }
        for n in 0..32 {
            if let Some(shared) = self.shared_of(at, n) {
                shared.router = 0;
            }
        }
    }
}
