//! Registers of devices.

use core::arch::asm;

use abi::guest;
use abi::limits::{CPU_INTERFACE_BYTES, DISTRIBUTOR_BYTES, PAGE_BYTES, REDISTRIBUTOR_BYTES};

use super::stacks::CPUS_MAX;

/// The registers of one device. Every access is one plain load or store, which a hypervisor can
/// emulate from its syndrome alone.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    base: usize,
    bytes: usize,
}

/// The distributor of the interrupt controller.
pub const GICD: Registers = Registers::new(guest::GICD, DISTRIBUTOR_BYTES);
/// The CPU interface of a GICv2.
pub const GICC: Registers = Registers::new(guest::GICC, CPU_INTERFACE_BYTES);
/// The redistributors of the interrupt controller, [`GICR_BYTES`] for each processor.
pub const GICR: Registers = Registers::new(guest::GICR, CPUS_MAX as u64 * REDISTRIBUTOR_BYTES);
/// Bytes of the registers of one redistributor: two pages of 64 KiB.
pub const GICR_BYTES: usize = REDISTRIBUTOR_BYTES as usize;
/// The PL011 UART.
pub const UART: Registers = Registers::new(guest::UART, PAGE_BYTES);

impl Registers {
    const fn new(base: u64, bytes: u64) -> Self {
        Self { base: base as usize, bytes: bytes as usize }
    }

    /// One page of registers at `base`, which must be a page below RAM.
    pub fn page(base: u64) -> Option<Self> {
        let fits = base.is_multiple_of(PAGE_BYTES) && base < guest::RAM;
        fits.then_some(Self::new(base, PAGE_BYTES))
    }

    /// Address of the first register.
    pub const fn base(self) -> u64 {
        self.base as u64
    }

    /// Bytes that the registers take.
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    fn address(self, offset: usize, size: usize) -> usize {
        assert!(
            offset.is_multiple_of(size) && offset + size <= self.bytes,
            "no {size}-byte register at {:#x} + {offset:#x}",
            self.base
        );
        self.base + offset
    }

    /// Reads the 32-bit register at `offset`.
    pub fn read32(self, offset: usize) -> u32 {
        let address = self.address(offset, 4);
        let value: u32;
        // SAFETY: the address lies in a device, whose registers do not overlay memory of the program.
        unsafe {
            asm!("ldr {:w}, [{}]", out(reg) value, in(reg) address, options(nostack, preserves_flags));
        }
        value
    }

    /// Writes the 32-bit register at `offset`.
    pub fn write32(self, offset: usize, value: u32) {
        let address = self.address(offset, 4);
        // SAFETY: as in `read32`.
        unsafe {
            asm!("str {:w}, [{}]", in(reg) value, in(reg) address, options(nostack, preserves_flags));
        }
    }

    /// Reads the 64-bit register at `offset`.
    pub fn read64(self, offset: usize) -> u64 {
        let address = self.address(offset, 8);
        let value: u64;
        // SAFETY: as in `read32`.
        unsafe {
            asm!("ldr {}, [{}]", out(reg) value, in(reg) address, options(nostack, preserves_flags));
        }
        value
    }

    /// Writes the 64-bit register at `offset`.
    pub fn write64(self, offset: usize, value: u64) {
        let address = self.address(offset, 8);
        // SAFETY: as in `read32`.
        unsafe {
            asm!("str {}, [{}]", in(reg) value, in(reg) address, options(nostack, preserves_flags));
        }
    }

    /// Writes the byte at `offset` (interrupt priorities are bytes).
    pub fn write8(self, offset: usize, value: u8) {
        let address = self.address(offset, 1);
        // SAFETY: as in `read32`.
        unsafe {
            asm!("strb {:w}, [{}]", in(reg) value, in(reg) address, options(nostack, preserves_flags));
        }
    }
}
