//! The parts of the machine that the measurement guest needs. It shares nothing with the library, so that it
//! stays below 4 KiB: no MMU, no formatting, no data.

mod measure;
mod uart;

use core::arch::global_asm;

use abi::guest;

pub use measure::{
    baseline, counter_offset, enable_timer_interrupt, faults, full_speed, hvc, hvc_with, load, smc,
    store, timer,
};
pub use uart::{Uart, print_hex, print_number, print_text};

const fn chosen(text: Option<&str>, default: u64) -> u64 {
    let Some(text) = text else { return default };
    match u64::from_str_radix(text, 16) {
        Ok(number) => number,
        Err(_) => panic!("BENCH_...: expected a hexadecimal number without 0x"),
    }
}

unsafe extern "C" {
    /// The function that [`crate::measurement_guest`] defines.
    fn bench_main(entry: u64);
}

global_asm!(
    include_str!("boot.s"),
    uart = const chosen(option_env!("BENCH_UART"), guest::UART),
    gicd = const chosen(option_env!("BENCH_GICD"), guest::GICD),
    gicr = const chosen(option_env!("BENCH_GICR"), guest::GICR),
    gic_version = const chosen(option_env!("BENCH_GIC_VERSION"), 3),
    hvc_function = const chosen(option_env!("BENCH_HVC_FUNCTION"), 0xc600_ffff),
    isenabler_value = const chosen(option_env!("BENCH_ISENABLER_VALUE"), 2),
    runs = const chosen(option_env!("BENCH_RUNS"), 16),
    main = sym bench_main,
);

/// The parameters at offset 0x48 of the file, as they are or as they were patched.
#[derive(Debug)]
#[repr(C)]
pub struct Parameters {
    /// Address of the PL011 UART.
    pub uart: u64,
    /// Address of the distributor.
    pub gicd: u64,
    /// Address of this processor's redistributor (GICv3), or of the CPU interface (GICv2).
    pub gicr: u64,
    /// 2 or 3.
    pub gic_version: u32,
    /// A function that the hypervisor is to reject.
    pub hvc_function: u32,
    /// The value that is written to `GICD_ISENABLER1`; 2 is INTID 33.
    pub isenabler_value: u32,
    /// Number of times that each figure is measured.
    pub runs: u32,
}

/// The parameters of this image.
pub fn parameters() -> &'static Parameters {
    unsafe extern "C" {
        static bench_parameters: Parameters;
    }
    // SAFETY: boot.s lays them out so; nobody writes to them.
    unsafe { &bench_parameters }
}

/// Makes the binary out of a function that gets the virtual counter at the first instruction.
#[macro_export]
macro_rules! measurement_guest {
    ($main:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn bench_main(entry: u64) {
            $main(entry)
        }
    };
}
