//! The distributor of a GICv2 (Arm IHI 0048, 4.3) with one security state: interrupts below 32
//! are those of the VCPU that accesses it.

use super::VGic;
use super::bank::bits;
use super::env::Env;
use super::mmio::{Register, banked};
use super::senders::SGIS;
use super::state::Groups;

/// Bytes of its registers.
const BYTES: u64 = 0x1000;

const CTLR: usize = 0x000;
const TYPER: usize = 0x004;
const IIDR: usize = 0x008;
const ITARGETSR: usize = 0x800;
const ICFGR: usize = 0xc00;
const SGIR: usize = 0xf00;
/// A byte for each SGI, in which there is a bit for each sender.
const CPENDSGIR: usize = 0xf10;
const SPENDSGIR: usize = 0xf20;
const SGIS_END: usize = 0xf30;
const IDENTIFICATION: usize = 0xfd0;

const ENABLE_GROUP0: u32 = 1 << 0;
const ENABLE_GROUP1: u32 = 1 << 1;
/// GICD_IIDR: as a GIC-400.
const IIDR_VALUE: u32 = 0x0200_143b;

impl VGic {
    /// Returns where an access goes; `None`: not allowed there.
    #[inline(never)]
    pub(super) fn decode_banked(&self, vcpu: usize, offset: u64, bytes: usize) -> Option<Register> {
        let in_bytes = matches!(offset, 0x400..0xc00 | 0xf10..0xf30);
        let legal = bytes == 4 || bytes == 1 && in_bytes;
        if offset >= BYTES || !legal || offset & (bytes as u64 - 1) != 0 {
            return None;
        }
        Some(match banked(offset as usize) {
            Some((0, register)) => Register::Banked(vcpu, register),
            Some((bank, register)) if bank <= self.shared_banks => {
                Register::Banked(self.vcpus() + bank - 1, register)
            }
            Some(_) => Register::Reserved,
            None => Register::BankedDistributor(offset as usize),
        })
    }

    /// `vcpu`, loaded on this PCPU, reads a register that is in no bank.
    #[inline(never)]
    pub(super) fn read_banked<E: Env>(
        &self,
        env: &E,
        vcpu: usize,
        offset: usize,
        bytes: usize,
    ) -> u64 {
        let value = match offset {
            CTLR => {
                let state = self.lock();
                state.groups.zero & ENABLE_GROUP0 | state.groups.one & ENABLE_GROUP1
            }
            TYPER => (self.vcpus() as u32 - 1) << 5 | self.shared_banks as u32,
            IIDR => IIDR_VALUE,
            ITARGETSR..ICFGR => {
                let state = self.lock();
                fold_bytes(offset - ITARGETSR, bytes, |intid| {
                    // A VCPU that is alone has nothing to choose.
                    let at = state.locate(vcpu, intid as u32).filter(|_| state.vcpus > 1);
                    at.map_or(0, |(bank, n)| state.targets(bank, n))
                })
            }
            CPENDSGIR..SGIS_END => {
                let mut state = self.lock();
                // What the guest has acknowledged since is not pending any more.
                let concerned = self.sync(env, &mut state, vcpu);
                let value = fold_bytes(offset % SGIS, bytes, |n| state.senders(vcpu, n));
                self.finish(env, state, Some(vcpu), concerned);
                value
            }
            _ => identification(offset),
        };
        value.into()
    }

    /// `vcpu`, loaded on this PCPU, writes a register that is in no bank.
    #[inline(never)]
    pub(super) fn write_banked<E: Env>(
        &self,
        env: &E,
        vcpu: usize,
        offset: usize,
        bytes: usize,
        value: u32,
    ) {
        match offset {
            CTLR => {
                let mask = |bit| if value & bit != 0 { u32::MAX } else { 0 };
                let groups = Groups { zero: mask(ENABLE_GROUP0), one: mask(ENABLE_GROUP1) };
                self.forward(env, vcpu, groups);
            }
            ITARGETSR..ICFGR => self.write_targets(env, vcpu, offset - ITARGETSR, bytes, value),
            SGIR => self.write_sgir(env, vcpu, value),
            CPENDSGIR..SGIS_END => {
                let mut state = self.lock();
                let values = value.to_le_bytes();
                for (n, from) in (offset % SGIS..).zip(values).take(bytes) {
                    if offset < SPENDSGIR {
                        state.remove_senders(vcpu, n, from);
                    } else {
                        state.add_senders(vcpu, n, from);
                    }
                }
                self.finish(env, state, Some(vcpu), 1 << vcpu);
            }
            _ => {}
        }
    }

    /// GICD_ITARGETSR.
    fn write_targets<E: Env>(&self, env: &E, vcpu: usize, first: usize, bytes: usize, value: u32) {
        let mut state = self.lock();
        let mut concerned = 0;
        for (intid, targets) in (first..).zip(value.to_le_bytes()).take(bytes) {
            let place = state.locate(vcpu, intid as u32).filter(|_| intid >= 32);
            if let Some((at, n)) = place.filter(|_| self.vcpus() > 1) {
                concerned |= state.send_to(env, vcpu, (at, n), targets);
            }
        }
        self.finish(env, state, Some(vcpu), concerned);
    }

    /// GICD_SGIR.
    fn write_sgir<E: Env>(&self, env: &E, vcpu: usize, value: u32) {
        let all = (1u32 << self.vcpus()) - 1;
        let targets = match value >> 24 & 3 {
            0 => value >> 16 & 0xff,
            1 => !(1 << vcpu),
            2 => 1 << vcpu,
            _ => 0,
        } & all;
        let mut state = self.lock();
        for target in bits(targets) {
            state.add_senders(target, (value & 0xf) as usize, 1 << vcpu);
        }
        self.finish(env, state, Some(vcpu), targets);
    }
}

/// A register made of bytes, of interrupts from `first`.
fn fold_bytes(first: usize, bytes: usize, mut byte: impl FnMut(usize) -> u8) -> u32 {
    (first..first + bytes).rev().fold(0, |value, at| value << 8 | u32::from(byte(at)))
}

/// Identification at 0xfd0 to 0xffc: PIDR4 to PIDR7, PIDR0 to PIDR3, CIDR0 to CIDR3. PIDR2 says GICv2.
fn identification(offset: usize) -> u32 {
    const IDS: [u8; 12] = [0x04, 0, 0, 0, 0x90, 0xb4, 0x2b, 0, 0x0d, 0xf0, 0x05, 0xb1];
    let from = offset.checked_sub(IDENTIFICATION);
    from.and_then(|from| IDS.get(from / 4)).map_or(0, |&id| id.into())
}
