//! Reading the registers that have a field for each interrupt.

use super::VGic;
use super::bank::bits;
use super::env::Env;
use super::mmio::Banked;
use super::state::State;

impl VGic {
    /// Reads a register of bank `at`.
    pub(super) fn read_bank<E: Env>(
        &self,
        env: &E,
        vcpu: usize,
        at: usize,
        register: Banked,
        bytes: usize,
    ) -> u64 {
        let mut state = self.lock();
        let bank = &state.banks[at];
        let value = match register {
            Banked::Group => bank.group1,
            Banked::SetEnable | Banked::ClearEnable => bank.enabled,
            Banked::Priority(first) => bank
                .priority
                .iter()
                .skip(first)
                .take(bytes)
                .rev()
                .fold(0, |value, &priority| value << 8 | priority as u32),
            Banked::Trigger(first) => spread(bank.edge >> first),
            Banked::SetPending | Banked::ClearPending | Banked::SetActive | Banked::ClearActive => {
                let mut concerned = self.sync(env, &mut state, vcpu);
                let pending = matches!(register, Banked::SetPending | Banked::ClearPending);
                let value = if pending { state.pending(env, at) } else { state.active(at) };
                // What other VCPUs hold may have moved on.
                concerned |= state.holders(at, u32::MAX) & !(1 << vcpu);
                self.finish(env, state, Some(vcpu), concerned);
                value
            }
        };
        value as u64
    }
}

impl State {
    /// Returns the pending interrupts of a bank, as of the last sync for those that are listed
    /// elsewhere.
    fn pending<E: Env>(&self, env: &E, at: usize) -> u32 {
        let bank = &self.banks[at];
        let known = bank.pending | bank.asserted() | bank.latched;
        bits(bank.hardware & !known)
            .filter(|&n| env.is_pending(self.physical(at, n)))
            .fold(known, |pending, n| pending | 1 << n)
    }

    /// Returns the active interrupts of a bank, as of the last sync for those that are listed
    /// elsewhere.
    fn active(&self, at: usize) -> u32 {
        self.banks[at].active | self.banks[at].listed_active
    }
}

/// GICD_ICFGR for the lowest 16 interrupts of `edge`: two bits each, the upper one set for edge.
fn spread(edge: u32) -> u32 {
    let halves = edge & 0xffff;
    let bytes = (halves | halves << 8) & 0x00ff_00ff;
    let nibbles = (bytes | bytes << 4) & 0x0f0f_0f0f;
    let pairs = (nibbles | nibbles << 2) & 0x3333_3333;
    ((pairs | pairs << 1) & 0x5555_5555) << 1
}
