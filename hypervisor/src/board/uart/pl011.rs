//! Arm PL011 UART (Arm DDI 0183).

use core::fmt;

use crate::arch::mmio::Mmio;
use crate::console::{Input, Uart, send_polled};

const DR: usize = 0x00;
const FR: usize = 0x18;
const LCR_H: usize = 0x2c;
const CR: usize = 0x30;
const IFLS: usize = 0x34;
const IMSC: usize = 0x38;
const ICR: usize = 0x44;

/// Bytes of the registers in use.
const FRAME: usize = ICR + 4;

const DR_OVERRUN: u32 = 1 << 11;

const FR_BUSY: u32 = 1 << 3;
const FR_RXFE: u32 = 1 << 4;
const FR_TXFF: u32 = 1 << 5;

const LCR_FIFOS: u32 = 1 << 4;
const LCR_8_BITS: u32 = 3 << 5;

const CR_ENABLE: u32 = 1 << 0 | 1 << 8 | 1 << 9;
// What firmware may have set and is kept: modem lines and hardware flow control.
const CR_KEPT: u32 = 1 << 10 | 1 << 11 | 1 << 14 | 1 << 15;

// Interrupts when the FIFOs are half full or half empty.
const IFLS_HALF: u32 = 2 << 3 | 2;

const RECEIVE: u32 = 1 << 4;
const TRANSMIT: u32 = 1 << 5;
const RECEIVE_TIMEOUT: u32 = 1 << 6;
const ALL: u32 = 0x7ff;

/// Polls for the end of transmission before the UART is set up: longer than a full FIFO
/// takes at 9,600 baud. What is not out by then is not worth waiting for.
const POLLS: u32 = 10_000_000;

/// A PL011, as firmware left it until [`Pl011::init`].
pub struct Pl011 {
    registers: Mmio,
}

impl Pl011 {
    /// The UART with these registers; `None` if the block is too small to be one.
    pub const fn new(registers: Mmio) -> Option<Self> {
        if registers.bytes() >= FRAME { Some(Self { registers }) } else { None }
    }

    /// Switches FIFOs on and interrupts off. Baud rate, parity and stop bits stay as they are.
    pub fn init(&self) {
        self.registers.write32(IMSC, 0);
        // Line control may only change while the UART is off, and switching it
        // off cuts what firmware or the early console still had in the FIFO.
        for _ in 0..POLLS {
            if self.flags() & FR_BUSY == 0 {
                break;
            }
            core::hint::spin_loop();
        }
        let control = self.registers.read32(CR);
        self.registers.write32(CR, control & CR_KEPT);
        let line = self.registers.read32(LCR_H);
        self.registers.write32(LCR_H, line | LCR_8_BITS | LCR_FIFOS);
        self.registers.write32(IFLS, IFLS_HALF);
        // The transmit interrupt is never cleared by hand: it is raised when the FIFO
        // drains to its level, and then stays pending until it is filled again, or masked.
        // The console enables it when it wants to send, whatever the FIFO holds then.
        self.registers.write32(ICR, ALL & !TRANSMIT);
        self.registers.write32(CR, control & CR_KEPT | CR_ENABLE);
    }

    fn flags(&self) -> u32 {
        self.registers.read32(FR)
    }
}

impl Uart for Pl011 {
    fn can_send(&self) -> bool {
        self.flags() & FR_TXFF == 0
    }

    fn send(&self, byte: u8) {
        self.registers.write32(DR, byte.into());
    }

    fn receive(&self) -> Option<Input> {
        if self.flags() & FR_RXFE != 0 {
            return None;
        }
        let data = self.registers.read32(DR);
        Some(Input { byte: data as u8, overrun: data & DR_OVERRUN != 0 })
    }

    fn set_interrupts(&self, transmit: bool) {
        let transmit = if transmit { TRANSMIT } else { 0 };
        self.registers.write32(IMSC, RECEIVE | RECEIVE_TIMEOUT | transmit);
    }
}

/// Polled output, a line end as `\r\n`; fails if the UART takes no more bytes.
impl fmt::Write for &Pl011 {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            let sent = (byte != b'\n' || send_polled(*self, b'\r')) && send_polled(*self, byte);
            if !sent {
                return Err(fmt::Error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers that are plain memory.
    fn with_uart(test: impl FnOnce(Pl011, Mmio)) {
        let mut memory = [0u64; FRAME / 8 + 1];
        // SAFETY: the array outlives the block and is reached only through it.
        let block =
            unsafe { Mmio::new((&raw mut memory).expose_provenance(), size_of_val(&memory)) };
        test(Pl011::new(block).unwrap(), block);
    }

    #[test]
    fn init_keeps_baud_rate_parity_and_flow_control() {
        with_uart(|uart, block| {
            block.write32(0x24, 13);
            block.write32(0x28, 1);
            block.write32(LCR_H, 0x0e);
            block.write32(CR, 1 << 15 | 1 << 7 | 1);
            uart.init();
            assert_eq!((block.read32(0x24), block.read32(0x28)), (13, 1));
            assert_eq!(block.read32(LCR_H), 0x7e);
            assert_eq!(block.read32(CR), 1 << 15 | 0x301);
            assert_eq!(block.read32(IMSC), 0);
            assert_eq!(block.read32(ICR) & TRANSMIT, 0, "the transmit interrupt is not cleared");
        });
    }

    #[test]
    fn transmit_interrupt_comes_and_goes_and_receive_interrupts_stay() {
        with_uart(|uart, block| {
            uart.set_interrupts(true);
            assert_eq!(block.read32(IMSC), 0x70);
            uart.set_interrupts(false);
            assert_eq!(block.read32(IMSC), 0x50);
        });
    }

    #[test]
    fn received_data_carries_byte_and_overrun() {
        with_uart(|uart, block| {
            block.write32(FR, FR_RXFE);
            assert_eq!(uart.receive(), None);
            block.write32(FR, 0);
            block.write32(DR, 0x841);
            assert_eq!(uart.receive(), Some(Input { byte: b'A', overrun: true }));
        });
    }

    #[test]
    fn output_to_a_full_uart_ends() {
        use fmt::Write;
        with_uart(|uart, block| {
            block.write32(FR, FR_TXFF);
            assert!((&uart).write_str("text").is_err());
        });
    }

    #[test]
    fn too_small_a_block_is_refused() {
        // SAFETY: nothing is accessed.
        let block = unsafe { Mmio::new(0, 0x40) };
        assert!(Pl011::new(block).is_none());
    }
}
