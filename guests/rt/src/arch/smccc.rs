//! Calls to firmware and hypervisor by the SMC Calling Convention (Arm DEN 0028).

use core::arch::asm;

use super::fault::{self, Fault};
use super::layout;

const CPU_ON: [u64; 2] = [0x8400_0003, 0xc400_0003];

/// The call `function` by HVC; returns `x0`..`x3`.
///
/// # Panics
///
/// If the call would start a processor somewhere inside this program: that is only done by
/// [`super::secondary::start`].
pub fn hvc(function: u64, arguments: [u64; 7]) -> [u64; 4] {
    let starts_a_processor = CPU_ON.contains(&(function & 0xffff_ffff));
    assert!(
        !starts_a_processor || !layout::owns(arguments[1]),
        "CPU_ON into this program, at {:#x}",
        arguments[1]
    );
    // SAFETY: no function that a hypervisor offers to these guests writes to their memory.
    unsafe { hvc_unchecked(function, arguments) }
}

/// The call `function` by HVC, even when it starts a processor in this program.
///
/// # Safety
///
/// The call must not let anything write to memory of this program against Rust's rules.
pub(super) unsafe fn hvc_unchecked(function: u64, arguments: [u64; 7]) -> [u64; 4] {
    let [mut x1, mut x2, mut x3, x4, x5, x6, x7] = arguments;
    let mut x0 = function;
    // SAFETY: the registers are those that the convention allows a call to change.
    unsafe {
        asm!(
            "hvc #0",
            inout("x0") x0, inout("x1") x1, inout("x2") x2, inout("x3") x3,
            inout("x4") x4 => _, inout("x5") x5 => _, inout("x6") x6 => _, inout("x7") x7 => _,
            out("x8") _, out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _,
            out("x14") _, out("x15") _, out("x16") _, out("x17") _,
            options(nostack)
        );
    }
    [x0, x1, x2, x3]
}

/// The call `function` without arguments by HVC, on machines where HVC may be undefined.
pub fn try_hvc(function: u64) -> Result<[u64; 4], Fault> {
    let mut results = [0; 4];
    // SAFETY: without the call, `results` holds its arguments.
    unsafe { fault::catch(|| results = hvc(function, [0; 7])) }.map_or(Ok(results), Err)
}

/// The call `function` without arguments by SMC; a hypervisor may make the instruction undefined.
pub fn try_smc(function: u64) -> Result<[u64; 4], Fault> {
    let mut results = [function, 0, 0, 0];
    let [x0, x1, x2, x3] = &mut results;
    // SAFETY: as in `hvc`; the functions asked for have no arguments. Without the call, `results`
    // holds its arguments.
    let fault = unsafe {
        fault::catch(|| {
            asm!(
                "smc #0",
                inout("x0") *x0, inout("x1") *x1, inout("x2") *x2, inout("x3") *x3,
                out("x4") _, out("x5") _, out("x6") _, out("x7") _,
                out("x8") _, out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _,
                out("x14") _, out("x15") _, out("x16") _, out("x17") _,
                options(nostack)
            )
        })
    };
    fault.map_or(Ok(results), Err)
}

/// The call `function` by HVC, and whether it left `x4`..`x17` as they were, as SMCCC 1.1 demands.
pub fn hvc_keeps_registers(function: u64, arguments: [u64; 7]) -> ([u64; 4], bool) {
    let starts_a_processor = CPU_ON.contains(&(function & 0xffff_ffff));
    assert!(!starts_a_processor, "use `secondary::start` to start a processor");
    let [mut x1, mut x2, mut x3, mut x4, mut x5, mut x6, mut x7] = arguments;
    let mut x0 = function;
    let before: [u64; 10] = core::array::from_fn(|i| 0x0123_4567_89ab_cdef ^ (i as u64) << 32);
    let mut after = before;
    let [x8, x9, x10, x11, x12, x13, x14, x15, x16, x17] = &mut after;
    // SAFETY: as in `hvc`.
    unsafe {
        asm!(
            "hvc #0",
            inout("x0") x0, inout("x1") x1, inout("x2") x2, inout("x3") x3,
            inout("x4") x4, inout("x5") x5, inout("x6") x6, inout("x7") x7,
            inout("x8") *x8, inout("x9") *x9, inout("x10") *x10, inout("x11") *x11,
            inout("x12") *x12, inout("x13") *x13, inout("x14") *x14, inout("x15") *x15,
            inout("x16") *x16, inout("x17") *x17,
            options(nostack)
        );
    }
    ([x0, x1, x2, x3], after == before && [x4, x5, x6, x7] == arguments[3..])
}
