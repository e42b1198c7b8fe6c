//! Calls to the firmware: PSCI by SMC.

use core::arch::asm;

use super::boot::{SecondaryEntry, secondary_start};

const PSCI_VERSION: u64 = 0x8400_0000;
const PSCI_CPU_ON: u64 = 0xC400_0003;
/// The error of PSCI for an entry point that cannot be one, without its sign.
const INVALID_ADDRESS: u64 = 9;
const PSCI_SYSTEM_OFF: u64 = 0x8400_0008;

fn call(function: u64, a: u64, b: u64, c: u64) -> i64 {
    let result: i64;
    // SAFETY: the firmware follows SMCCC: it preserves x4 and up, and these
    // functions do not touch our memory.
    unsafe {
        asm!("smc #0",
            inout("x0") function => result,
            inout("x1") a => _, inout("x2") b => _, inout("x3") c => _,
            out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _, out("x9") _,
            out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _, out("x15") _,
            out("x16") _, out("x17") _,
            options(nostack));
    }
    result
}

/// Version of the firmware's PSCI: major in bits 31..16, minor in 15..0; 0 without PSCI.
pub fn version() -> u64 {
    (call(PSCI_VERSION, 0, 0, 0) as i32).max(0) as u64
}

/// Starts the CPU with this affinity at [`secondary_start`]. Returns the PSCI
/// error, without its sign, if the firmware refuses.
pub fn cpu_on(mpidr: u64, entry: &'static SecondaryEntry) -> Result<(), u64> {
    let address = core::ptr::from_ref(entry) as usize;
    super::cpu::clean_and_invalidate(address, size_of::<SecondaryEntry>());
    // The entry code is where the image was loaded, whatever frames it has got since.
    let Some(physical) = super::cpu::physical(address) else { return Err(INVALID_ADDRESS) };
    match call(PSCI_CPU_ON, mpidr, secondary_start as *const () as u64, physical) {
        0 => Ok(()),
        error => Err((error as i32).unsigned_abs().into()),
    }
}

/// Turns the machine off.
pub fn system_off() -> ! {
    call(PSCI_SYSTEM_OFF, 0, 0, 0);
    super::cpu::halt()
}
