//! Exceptions that the hypervisor injects into a guest, as hardware would raise them.

use crate::arch::context::{Context, PSTATE_EL1H_MASKED};
use crate::arch::regs;

const EC_UNKNOWN: u64 = 0;
/// An abort of EL0; one of EL1 has the next number.
const EC_INSTRUCTION_ABORT: u64 = 0x20;
const EC_DATA_ABORT: u64 = 0x24;
const ESR_IL: u64 = 1 << 25;
/// Fault status: synchronous external abort, not on a table walk.
const EXTERNAL_ABORT: u64 = 0x10;
/// Bits of a data abort for its access, in EL2's syndrome and in EL1's: a store, a maintenance of caches.
const STORE: u64 = 1 << 6;
const CACHE_MAINTENANCE: u64 = 1 << 8;

/// Privileged access never, and data-independent timing.
const PSTATE_PAN: u64 = 1 << 22;
const PSTATE_DIT: u64 = 1 << 24;
/// SCTLR_EL1: an exception does not change PAN. Reserved, one, on CPUs without PAN.
const SCTLR_SPAN: u64 = 1 << 23;

const PSTATE_MODE: u64 = 0xf;
const PSTATE_AARCH32: u64 = 1 << 4;
const MODE_EL0T: u64 = 0;
const MODE_EL1H: u64 = 5;

/// Enters the guest's vector for a synchronous exception at EL1.
fn synchronous(context: &mut Context, syndrome: u64) {
    let offset = if context.pstate & PSTATE_AARCH32 != 0 {
        0x600
    } else {
        match context.pstate & PSTATE_MODE {
            MODE_EL0T => 0x400,
            MODE_EL1H => 0x200,
            _ => 0x000,
        }
    };
    regs::esr_el1::write(syndrome);
    regs::elr_el1::write(context.pc);
    regs::spsr_el1::write(context.pstate);
    context.pc = regs::vbar_el1::read().wrapping_add(offset);
    let kept = context.pstate & (PSTATE_PAN | PSTATE_DIT);
    let pan = if has_pan() && regs::sctlr_el1::read() & SCTLR_SPAN == 0 { PSTATE_PAN } else { 0 };
    context.pstate = PSTATE_EL1H_MASKED | kept | pan;
}

fn has_pan() -> bool {
    regs::id_aa64mmfr1_el1::read() >> 20 & 0xf != 0
}

/// Raises an undefined instruction exception.
#[inline(never)]
pub fn undefined(context: &mut Context) {
    synchronous(context, EC_UNKNOWN << 26 | ESR_IL);
}

/// Raises an abort for an access or a fetch at this virtual address, as if it had failed on the bus. `cause` is the syndrome
/// of the abort that brought it to EL2.
pub fn abort(context: &mut Context, cause: u64, address: u64) {
    let from_el0 =
        context.pstate & PSTATE_AARCH32 != 0 || context.pstate & PSTATE_MODE == MODE_EL0T;
    let (class, access) = match cause >> 26 & 0x3f {
        EC_DATA_ABORT => (EC_DATA_ABORT, cause & (STORE | CACHE_MAINTENANCE)),
        _ => (EC_INSTRUCTION_ABORT, 0),
    };
    regs::far_el1::write(address);
    let class = class + u64::from(!from_el0);
    synchronous(context, class << 26 | ESR_IL | access | EXTERNAL_ABORT);
}
