//! Turning the machine off: by PSCI, by a device, or not at all.

use alloc::boxed::Box;

use super::mmio::Mmio;
use super::percpu::StaticRef;
use super::{cpu, smc};

// Power management of the BCM2835 family (Linux, drivers/watchdog/bcm2835_wdt.c).
const RSTC: usize = 0x1c;
const RSTS: usize = 0x20;
const WDOG: usize = 0x24;
/// Every write needs it.
const PASSWORD: u32 = 0x5a00_0000;
/// RSTS: the boot partition that does not exist, by which firmware halts after the reset.
const HALT: u32 = 0x555;
/// WDOG: about 150 us.
const SOON: u32 = 10;
const RSTC_MODE: u32 = 0x30;
const RSTC_FULL_RESET: u32 = 0x20;

/// The way to turn the machine off where there is no PSCI.
#[derive(Debug)]
struct WithoutFirmware {
    /// The registers of the power management, if there is one.
    registers: Option<Mmio>,
}

static WAY: StaticRef<WithoutFirmware> = StaticRef::empty();

/// The machine is not turned off by PSCI, but with these registers, if at all.
pub fn without_firmware(registers: Option<Mmio>) {
    WAY.set(Some(Box::leak(Box::new(WithoutFirmware { registers }))));
}

/// Turns the machine off, or at least stops this CPU.
pub fn off() -> ! {
    match WAY.get() {
        None => smc::system_off(),
        Some(WithoutFirmware { registers: None }) => cpu::halt(),
        Some(WithoutFirmware { registers: Some(registers) }) => {
            registers.write32(RSTS, PASSWORD | registers.read32(RSTS) | HALT);
            registers.write32(WDOG, PASSWORD | SOON);
            let mode = registers.read32(RSTC) & !RSTC_MODE | RSTC_FULL_RESET;
            registers.write32(RSTC, PASSWORD | mode);
            cpu::halt()
        }
    }
}
