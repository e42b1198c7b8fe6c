//! System registers that trap.

use super::identification;
use crate::arch::context::Context;
use crate::arch::{cache, regs};
use crate::pcpu::Assignment;
use crate::vm::{self, GicEnv};

/// Encoding of a system register as it stands in the syndrome, without direction
/// and general-purpose register.
const fn encoding(op0: u64, op1: u64, crn: u64, crm: u64, op2: u64) -> u64 {
    op0 << 20 | op2 << 17 | op1 << 14 | crn << 10 | crm << 1
}

const ENCODING_MASK: u64 = 0x3f_fc1e;
const READ: u64 = 1;

const ICC_SGI1R: u64 = encoding(3, 0, 12, 11, 5);
const ICC_ASGI1R: u64 = encoding(3, 0, 12, 11, 6);
const ICC_SGI0R: u64 = encoding(3, 0, 12, 11, 7);
const ACTLR_EL1: u64 = encoding(3, 0, 1, 0, 1);
const DC_ISW: u64 = encoding(1, 0, 7, 6, 2);
const DC_CSW: u64 = encoding(1, 0, 7, 10, 2);
const DC_CISW: u64 = encoding(1, 0, 7, 14, 2);
const CCSIDR_EL1: u64 = encoding(3, 1, 0, 0, 0);
const CLIDR_EL1: u64 = encoding(3, 1, 0, 0, 1);
const CCSIDR2_EL1: u64 = encoding(3, 1, 0, 0, 2);
const CSSELR_EL1: u64 = encoding(3, 2, 0, 0, 0);
const CTR_EL0: u64 = encoding(3, 3, 0, 0, 1);
const OSLSR_EL1: u64 = encoding(2, 0, 1, 1, 4);
/// OS lock implemented and not locked.
const OSLSR_UNLOCKED: u64 = 1 << 3;

/// An access of the guest to a system register that traps.
#[inline(never)]
pub fn access(context: &mut Context, syndrome: u64, at: &Assignment) {
    let register = syndrome >> 5 & 0x1f;
    let encoding = syndrome & ENCODING_MASK;
    if syndrome & READ == 0 {
        let value = context.get(register);
        if encoding == ICC_SGI1R {
            at.vm.gic.write_sgi1r(&GicEnv::of(at), at.vcpu.index, value);
        } else if encoding == CSSELR_EL1 {
            // The register of the CPU is the guest's: nobody else uses it.
            cache::select(value);
        } else if !write_ignored(encoding) {
            return vm::undefined(context);
        }
    } else {
        match read(encoding, at) {
            Some(value) => context.set(register, value),
            None => return vm::undefined(context),
        }
    }
    context.pc += 4;
}

/// Returns true if writes to a register have no effect in a guest.
fn write_ignored(encoding: u64) -> bool {
    match encoding {
        // Secure and group-0 interrupts do not exist here. By address, the guest
        // maintains its caches; by set and way it would hit those of others.
        ICC_ASGI1R | ICC_SGI0R | ACTLR_EL1 | DC_ISW | DC_CSW | DC_CISW => true,
        _ => is_debug(encoding),
    }
}

fn read(encoding: u64, at: &Assignment) -> Option<u64> {
    match encoding {
        // These trap in a VM with a virtual last-level cache.
        CCSIDR_EL1 => Some(cache::selected_by_guest(at.vm.plan.cache_share.unwrap_or(0))),
        CLIDR_EL1 => Some(regs::clidr_el1::read()),
        CSSELR_EL1 => Some(regs::csselr_el1::read()),
        CTR_EL0 => Some(regs::ctr_el0::read()),
        // Describes caches to AArch32 at EL1, which no guest has.
        CCSIDR2_EL1 => cache::has_ccidx().then_some(0),
        ACTLR_EL1 => Some(0),
        OSLSR_EL1 => Some(OSLSR_UNLOCKED),
        _ if is_debug(encoding) => Some(0),
        _ => identification::read(encoding),
    }
}

/// Returns true if a register belongs to breakpoints, watchpoints or the OS lock (op0 2, op1 0).
/// Such a register reads as zero and ignores writes, so that a guest neither sees nor stops the debug logic of the CPU.
fn is_debug(encoding: u64) -> bool {
    const OP0_OP1: u64 = self::encoding(3, 7, 0, 0, 0);
    encoding & OP0_OP1 == self::encoding(2, 0, 0, 0, 0)
}

/// Decomposes an encoding of `S3_0_C0_C<crm>_<op2>`, the identification registers.
pub(super) fn identification_fields(encoding: u64) -> Option<(u64, u64)> {
    let (crm, op2) = (encoding >> 1 & 0xf, encoding >> 17 & 7);
    (encoding == self::encoding(3, 0, 0, crm, op2)).then_some((crm, op2))
}
