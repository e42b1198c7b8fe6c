//! Registers that only the distributor has.

use super::VGic;
use super::env::Env;
use super::state::Groups;

const CTLR: usize = 0x0000;
const TYPER: usize = 0x0004;
const IIDR: usize = 0x0008;
/// GICD_IROUTER of INTID 32.
const IROUTER: usize = 0x6100;

/// GICD_IIDR, GICR_IIDR: implementer Arm, product and revision 0.
pub(super) const IIDR_VALUE: u32 = 0x43b;

const ENABLE_GROUP0: u32 = 1 << 0;
const ENABLE_GROUP1: u32 = 1 << 1;
/// Affinity routing and one security state, both fixed.
const ARE_AND_DS: u32 = 1 << 4 | 1 << 6;
const RWP: u32 = 1 << 31;

/// GICD_TYPER: 10 bits of INTID, no 1-of-N routing.
const TYPER_FIXED: u32 = 9 << 19 | 1 << 25;

/// Affinity fields of GICD_IROUTER; bit 31, Interrupt_Routing_Mode, is RES0.
const AFFINITY: u64 = 0xff_00ff_ffff;

/// CoreSight identification at 0xffd0 to 0xfffc of distributor and
/// redistributor: PIDR4 to PIDR7, PIDR0 to PIDR3, CIDR0 to CIDR3. PIDR2 says GICv3.
pub(super) fn identification(offset: usize) -> u32 {
    const IDS: [u8; 12] = [0x44, 0, 0, 0, 0x92, 0xb4, 0x3b, 0, 0x0d, 0xf0, 0x05, 0xb1];
    offset.checked_sub(0xffd0).and_then(|from| IDS.get(from / 4)).map_or(0, |&id| id as u32)
}

impl VGic {
    /// Reads a distributor register.
    #[inline(never)]
    pub(super) fn read_distributor<E: Env>(&self, env: &E, offset: usize, bytes: usize) -> u64 {
        let value = match offset {
            TYPER => TYPER_FIXED | self.shared_banks as u32,
            IIDR => IIDR_VALUE,
            CTLR => self.read_control(env),
            IROUTER.. if offset < 0x8000 => return self.read_router(offset - IROUTER, bytes),
            _ => identification(offset),
        };
        value as u64
    }

    /// Writes a distributor register.
    pub(super) fn write_distributor<E: Env>(
        &self,
        env: &E,
        vcpu: usize,
        offset: usize,
        bytes: usize,
        value: u64,
    ) {
        match offset {
            CTLR => self.write_control(env, vcpu, value as u32),
            IROUTER.. if offset < 0x8000 => {
                self.write_router(env, vcpu, offset - IROUTER, bytes, value);
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn read_control<E: Env>(&self, env: &E) -> u32 {
        let state = self.lock();
        let rwp = if state.unsettled(env) != 0 { RWP } else { 0 };
        state.groups.zero & ENABLE_GROUP0 | state.groups.one & ENABLE_GROUP1 | rwp | ARE_AND_DS
    }

    fn write_control<E: Env>(&self, env: &E, vcpu: usize, value: u32) {
        let mask = |bit| if value & bit != 0 { u32::MAX } else { 0 };
        self.forward(env, vcpu, Groups { zero: mask(ENABLE_GROUP0), one: mask(ENABLE_GROUP1) });
    }

    /// Forwards interrupts of these groups from now on.
    pub(super) fn forward<E: Env>(&self, env: &E, vcpu: usize, groups: Groups) {
        let mut state = self.lock();
        if state.groups == groups {
            return;
        }
        state.groups = groups;
        for at in 0..state.banks.len() {
            state.update_physical(env, at);
        }
        state.settling |= state.online & !(1 << vcpu);
        self.finish(env, state, Some(vcpu), u32::MAX);
    }

    #[inline(never)]
    fn read_router(&self, from: usize, bytes: usize) -> u64 {
        let state = self.lock();
        let router = state.shared.get(from / 8).map_or(0, |shared| shared.router);
        let value = router >> (from % 8 * 8);
        if bytes == 8 { value } else { value & 0xffff_ffff }
    }

    fn write_router<E: Env>(&self, env: &E, vcpu: usize, from: usize, bytes: usize, value: u64) {
        let mut state = self.lock();
        let Some(shared) = state.shared.get_mut(from / 8) else { return };
        let router = match (bytes, from % 8) {
            (8, _) => value,
            (_, 0) => shared.router & !0xffff_ffff | value & 0xffff_ffff,
            _ => shared.router & 0xffff_ffff | value << 32,
        } & AFFINITY;
        shared.router = router;
        let (at, n) = (self.vcpus() + from / 256, from / 8 % 32);
        let target = if router < self.vcpus() as u64 { 1 << router } else { 0 };
        let concerned = state.send_to(env, vcpu, (at, n), target);
        self.finish(env, state, Some(vcpu), concerned);
    }
}
