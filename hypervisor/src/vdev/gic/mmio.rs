//! Accesses to the registers in memory, and the decoding of their addresses.

use super::env::Env;
use super::{DISTRIBUTOR_BYTES, REDISTRIBUTOR_BYTES, VGic};

/// The frame that is accessed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Frame {
    /// GICD of a GICv3.
    Distributor,
    /// GICD of a GICv2.
    BankedDistributor,
    /// GICR of the VCPU with this number: both its frames, one after the other.
    Redistributor(usize),
}

/// Registers that distributor and SGI frame have in common.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Banked {
    Group,
    SetEnable,
    ClearEnable,
    SetPending,
    ClearPending,
    SetActive,
    ClearActive,
    /// First byte in the bank.
    Priority(usize),
    /// First interrupt in the bank.
    Trigger(usize),
}

/// The register of an access of legal size and alignment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Register {
    /// A register of a bank.
    Banked(usize, Banked),
    /// A register of the distributor of a GICv3, at this offset.
    Distributor(usize),
    /// A register of the distributor of a GICv2, at this offset.
    BankedDistributor(usize),
    /// A register of the first frame of a redistributor, at this offset.
    Redistributor(usize, usize),
    /// Reads as zero, ignores writes.
    Reserved,
}

impl VGic {
    /// `vcpu`, loaded on this PCPU, reads `bytes` bytes at `offset` of a frame.
    ///
    /// `None`: the architecture does not allow such an access there.
    #[inline(always)]
    pub fn mmio_read<E: Env>(
        &self,
        env: &E,
        vcpu: usize,
        frame: Frame,
        offset: u64,
        bytes: usize,
    ) -> Option<u64> {
        // The distributor's control block needs no decoding.
        if frame == Frame::Distributor && offset < 0x80 && bytes == 4 && offset & 3 == 0 {
            return Some(self.read_distributor(env, offset as usize, bytes));
        }
        self.read_decoded(env, vcpu, frame, offset, bytes)
    }

    #[inline(never)]
    fn read_decoded<E: Env>(
        &self,
        env: &E,
        vcpu: usize,
        frame: Frame,
        offset: u64,
        bytes: usize,
    ) -> Option<u64> {
        let register = self.decode(vcpu, frame, offset, bytes)?;
        Some(match register {
            Register::Banked(at, register) => self.read_bank(env, vcpu, at, register, bytes),
            Register::Distributor(offset) => self.read_distributor(env, offset, bytes),
            Register::Redistributor(of, offset) => self.read_redistributor(env, of, offset, bytes),
            Register::BankedDistributor(offset) => self.read_banked(env, vcpu, offset, bytes),
            Register::Reserved => 0,
        })
    }

    /// `vcpu`, loaded on this PCPU, writes `bytes` bytes at `offset` of a frame.
    ///
    /// `None`: the architecture does not allow such an access there; nothing
    /// has changed.
    #[inline(never)]
    pub fn mmio_write<E: Env>(
        &self,
        env: &E,
        vcpu: usize,
        frame: Frame,
        offset: u64,
        bytes: usize,
        value: u64,
    ) -> Option<()> {
        let register = self.decode(vcpu, frame, offset, bytes)?;
        match register {
            Register::Banked(at, register) => {
                self.write_bank(env, vcpu, at, register, bytes, value as u32);
            }
            Register::Distributor(offset) => {
                self.write_distributor(env, vcpu, offset, bytes, value);
            }
            Register::Redistributor(of, offset) => self.write_redistributor(of, offset, value),
            Register::BankedDistributor(offset) => {
                self.write_banked(env, vcpu, offset, bytes, value as u32);
            }
            Register::Reserved => {}
        }
        Some(())
    }

    #[inline]
    fn decode(&self, vcpu: usize, frame: Frame, offset: u64, bytes: usize) -> Option<Register> {
        if frame == Frame::BankedDistributor {
            return self.decode_banked(vcpu, offset, bytes);
        }
        let shared = frame == Frame::Distributor;
        let end = if shared { DISTRIBUTOR_BYTES } else { REDISTRIBUTOR_BYTES };
        let aligned = bytes.is_power_of_two() && offset & (bytes as u64 - 1) == 0;
        if offset >= end || !aligned {
            return None;
        }
        let mut at = offset as usize;
        if let Frame::Redistributor(of) = frame {
            if of >= self.vcpus.len() {
                return None;
            }
            let Some(in_sgi_frame) = at.checked_sub(0x1_0000) else {
                // GICR_TYPER and the registers for LPIs have 64 bits.
                let long = at == 0x8 || (0x40..0xc0).contains(&at);
                let legal = bytes == 4 || bytes == 8 && long;
                return legal.then_some(Register::Redistributor(of, at));
            };
            at = in_sgi_frame;
        }
        // Bytes are allowed for priorities (and the legacy ITARGETSR), 64 bits for routers.
        let legal = match bytes {
            4 => true,
            1 => (0x400..0xc00).contains(&at),
            8 => shared && (0x6000..0x8000).contains(&at),
            _ => false,
        };
        if !legal {
            return None;
        }
        let (bank, register) = match banked(at) {
            Some(found) => found,
            None if shared => return Some(Register::Distributor(at)),
            None => return Some(Register::Reserved),
        };
        // With affinity routing the first bank of the distributor is reserved,
        // and an SGI frame has no other.
        let bank = match frame {
            Frame::Distributor if (1..=self.shared_banks).contains(&bank) => {
                self.vcpus.len() + bank - 1
            }
            Frame::Redistributor(of) if bank == 0 => of,
            _ => return Some(Register::Reserved),
        };
        Some(Register::Banked(bank, register))
    }
}

/// Returns the number of the bank and register at an offset in a distributor or an SGI frame;
/// `None` where there are others.
#[inline]
pub(super) fn banked(at: usize) -> Option<(usize, Banked)> {
    let word = at % 0x80 / 4;
    Some(match at / 0x80 {
        1 => (word, Banked::Group),
        2 => (word, Banked::SetEnable),
        3 => (word, Banked::ClearEnable),
        4 => (word, Banked::SetPending),
        5 => (word, Banked::ClearPending),
        6 => (word, Banked::SetActive),
        7 => (word, Banked::ClearActive),
        8..16 => ((at - 0x400) / 32, Banked::Priority(at % 32)),
        24..26 => ((at - 0xc00) / 8, Banked::Trigger(at % 8 * 4)),
        _ => return None,
    })
}
