//! Cadence UART of the Zynq UltraScale+ (AMD UG1085, chapter 21; registers: UG1087, UART).

use crate::arch::mmio::Mmio;
use crate::console::{Input, Uart};

const CR: usize = 0x00;
const IER: usize = 0x08;
const IDR: usize = 0x0c;
const ISR: usize = 0x14;
const RXWM: usize = 0x20;
const SR: usize = 0x2c;
const FIFO: usize = 0x30;

/// Bytes of the registers in use.
const FRAME: usize = FIFO + 4;

const CR_RX_ENABLE: u32 = 1 << 2;
const CR_RX_DISABLE: u32 = 1 << 3;
const CR_TX_ENABLE: u32 = 1 << 4;
const CR_TX_DISABLE: u32 = 1 << 5;

const SR_RX_EMPTY: u32 = 1 << 1;
const SR_TX_FULL: u32 = 1 << 4;

// Bits of ISR stay set until they are written.
const RX_TRIGGER: u32 = 1 << 0;
const TX_EMPTY: u32 = 1 << 3;
const RX_OVERRUN: u32 = 1 << 5;
const ALL: u32 = 0x1fff;

/// A Cadence UART, as firmware left it until [`Cadence::init`].
pub struct Cadence {
    registers: Mmio,
}

impl Cadence {
    /// The UART with these registers; `None` if the block is too small to be one.
    pub const fn new(registers: Mmio) -> Option<Self> {
        if registers.bytes() >= FRAME { Some(Self { registers }) } else { None }
    }

    /// Switches receiver and transmitter on and interrupts off. Baud rate and format stay as they are, and what
    /// firmware still had in the FIFO is sent.
    pub fn init(&self) {
        self.registers.write32(IDR, ALL);
        let control = self.registers.read32(CR) & !(CR_RX_DISABLE | CR_TX_DISABLE);
        self.registers.write32(CR, control | CR_RX_ENABLE | CR_TX_ENABLE);
        self.registers.write32(RXWM, 1);
    }

    fn status(&self) -> u32 {
        self.registers.read32(SR)
    }
}

impl Uart for Cadence {
    fn can_send(&self) -> bool {
        self.status() & SR_TX_FULL == 0
    }

    fn send(&self, byte: u8) {
        // Before: the FIFO may be empty again as soon as it has the byte.
        self.registers.write32(ISR, TX_EMPTY);
        self.registers.write32(FIFO, byte.into());
    }

    fn receive(&self) -> Option<Input> {
        if self.status() & SR_RX_EMPTY != 0 {
            self.registers.write32(ISR, RX_TRIGGER);
            // What came in between does not set it again.
            if self.status() & SR_RX_EMPTY != 0 {
                return None;
            }
        }
        let overrun = self.registers.read32(ISR) & RX_OVERRUN != 0;
        if overrun {
            self.registers.write32(ISR, RX_OVERRUN);
        }
        Some(Input { byte: self.registers.read32(FIFO) as u8, overrun })
    }

    fn set_interrupts(&self, transmit: bool) {
        self.registers.write32(IER, RX_TRIGGER | if transmit { TX_EMPTY } else { 0 });
        self.registers.write32(IDR, if transmit { 0 } else { TX_EMPTY });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers that are plain memory.
    fn with_uart(test: impl FnOnce(Cadence, Mmio)) {
        let mut memory = [0u64; FRAME / 8 + 1];
        // SAFETY: the array outlives the block and is reached only through it.
        let block =
            unsafe { Mmio::new((&raw mut memory).expose_provenance(), size_of_val(&memory)) };
        test(Cadence::new(block).unwrap(), block);
    }

    #[test]
    fn init_keeps_what_firmware_chose() {
        with_uart(|uart, block| {
            block.write32(0x04, 0x20);
            block.write32(0x18, 0x3e);
            block.write32(CR, CR_RX_DISABLE | CR_TX_DISABLE | 1 << 8);
            uart.init();
            assert_eq!((block.read32(0x04), block.read32(0x18)), (0x20, 0x3e));
            assert_eq!(block.read32(CR), CR_RX_ENABLE | CR_TX_ENABLE | 1 << 8);
            assert_eq!(block.read32(IDR), ALL);
        });
    }

    #[test]
    fn transmit_interrupt_comes_and_goes_and_the_receive_interrupt_stays() {
        with_uart(|uart, block| {
            uart.set_interrupts(true);
            assert_eq!((block.read32(IER), block.read32(IDR)), (RX_TRIGGER | TX_EMPTY, 0));
            uart.set_interrupts(false);
            assert_eq!((block.read32(IER), block.read32(IDR)), (RX_TRIGGER, TX_EMPTY));
        });
    }

    #[test]
    fn received_data_carries_byte_and_overrun() {
        with_uart(|uart, block| {
            block.write32(SR, SR_RX_EMPTY);
            assert_eq!(uart.receive(), None);
            assert_eq!(block.read32(ISR), RX_TRIGGER, "it is told again");
            block.write32(SR, 0);
            block.write32(FIFO, 0x41);
            block.write32(ISR, RX_OVERRUN);
            assert_eq!(uart.receive(), Some(Input { byte: b'A', overrun: true }));
            block.write32(ISR, 0);
            assert_eq!(uart.receive(), Some(Input { byte: b'A', overrun: false }));
        });
    }

    #[test]
    fn a_full_fifo_takes_nothing() {
        with_uart(|uart, block| {
            assert!(uart.can_send());
            block.write32(SR, SR_TX_FULL);
            assert!(!uart.can_send());
            uart.send(b'x');
            assert_eq!((block.read32(ISR), block.read32(FIFO)), (TX_EMPTY, b'x'.into()));
        });
    }

    #[test]
    fn too_small_a_block_is_refused() {
        // SAFETY: nothing is accessed.
        let block = unsafe { Mmio::new(0, 0x30) };
        assert!(Cadence::new(block).is_none());
    }
}
