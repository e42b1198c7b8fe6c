//! The bell: interrupts for the readers of a channel; see `abi::bell`.

use crate::arch::mmio::Registers;
use crate::arguments;

/// The register on which the guest rings for a channel that it writes.
#[derive(Clone, Copy, Debug)]
pub struct Bell {
    page: Registers,
    offset: usize,
}

impl Bell {
    /// The register for the channel with this name, if the device tree says that the guest may ring.
    pub fn of(channel: &str) -> Option<Self> {
        let (page, offset) = arguments::ring(channel)?;
        Some(Self { page: Registers::page(page)?, offset: offset as usize })
    }

    /// Interrupts the readers, unless the limit of the channel is used up.
    pub fn ring(self) {
        self.page.write32(self.offset, 1);
    }

    /// Guest physical address of the register.
    pub fn address(self) -> u64 {
        self.page.base() + self.offset as u64
    }

    /// Returns the number of rings that were refused since the machine started.
    pub fn refused(self) -> u32 {
        self.page.read32(self.offset)
    }
}

/// INTID of the interrupt that tells of a ring for a channel that the guest reads.
pub fn interrupt() -> Option<u32> {
    arguments::bell_interrupt()
}
