//! The console of a guest at AArch64 EL1.

use crate::arch::mmio::UART;
use crate::hypercall;

const DR: usize = 0x0;
const FR: usize = 0x18;
const LCR_H: usize = 0x2c;
const CR: usize = 0x30;
const FR_TRANSMIT_FULL: u32 = 1 << 5;

/// Turns the PL011 on: 8 bits, FIFOs, transmit and receive.
pub fn enable() {
    UART.write32(LCR_H, 0x70);
    UART.write32(CR, 0x301);
}

/// Sends one byte by the PL011.
pub fn write_uart(byte: u8) {
    while UART.read32(FR) & FR_TRANSMIT_FULL != 0 {}
    UART.write32(DR, byte.into());
}

/// Sends bytes by the hypervisor or by the PL011.
pub(super) fn write(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let Some(taken) = hypercall::console_write(bytes) else {
            bytes.iter().copied().for_each(write_uart);
            return;
        };
        bytes = &bytes[taken..];
    }
}
