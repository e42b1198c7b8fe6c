//! Power control by PSCI (Arm DEN 0022), HVC conduit. Results are those of the calls: 0 or more is
//! success, less an error.

use crate::arch::smccc::hvc;

/// `PSCI_VERSION`.
pub const VERSION: u32 = 0x8400_0000;
/// `CPU_OFF`.
pub const CPU_OFF: u32 = 0x8400_0002;
/// `CPU_ON`, 64 bit.
pub const CPU_ON: u32 = 0xc400_0003;
/// `AFFINITY_INFO`, 64 bit.
pub const AFFINITY_INFO: u32 = 0xc400_0004;
/// `SYSTEM_OFF`.
pub const SYSTEM_OFF: u32 = 0x8400_0008;
/// `SYSTEM_RESET`.
pub const SYSTEM_RESET: u32 = 0x8400_0009;
/// `PSCI_FEATURES`.
pub const FEATURES: u32 = 0x8400_000a;

/// Result: the function is unknown.
pub const NOT_SUPPORTED: i32 = -1;
/// Result: there is no such processor.
pub const INVALID_PARAMETERS: i32 = -2;
/// Result: the processor is on.
pub const ALREADY_ON: i32 = -4;

/// State of a processor: on.
pub const ON: i32 = 0;
/// State of a processor: off.
pub const OFF: i32 = 1;

fn call(function: u32, arguments: [u64; 3]) -> i32 {
    let [x1, x2, x3] = arguments;
    hvc(function.into(), [x1, x2, x3, 0, 0, 0, 0])[0] as i32
}

/// Version: major in bits 16..31, minor in bits 0..16.
pub fn version() -> i32 {
    call(VERSION, [0; 3])
}

/// Returns the flags of `function`, 0 or more, if it is there, or [`NOT_SUPPORTED`].
pub fn features(function: u32) -> i32 {
    call(FEATURES, [function.into(), 0, 0])
}

/// State of the processor with this affinity.
pub fn affinity_info(affinity: u64) -> i32 {
    call(AFFINITY_INFO, [affinity, 0, 0])
}

/// Asks to start a processor outside of this program; see [`crate::arch::secondary`] to start one
/// inside.
pub fn cpu_on(affinity: u64, entry: u64, context: u64) -> i32 {
    call(CPU_ON, [affinity, entry, context])
}

/// Turns this processor off.
pub fn cpu_off() -> ! {
    call(CPU_OFF, [0; 3]);
    panic!("CPU_OFF returned");
}

/// Turns the machine off.
pub fn system_off() -> ! {
    loop {
        call(SYSTEM_OFF, [0; 3]);
    }
}

/// Resets the machine.
pub fn system_reset() -> ! {
    call(SYSTEM_RESET, [0; 3]);
    panic!("SYSTEM_RESET returned");
}
