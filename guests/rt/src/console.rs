//! The console: Bulkhead's hypercall where there is one, else the PL011, polled.
//!
//! There is no lock: a line is one write as long as it fits the buffer, but lines that several
//! tasks or processors print at the same time may mix on the PL011.

use core::fmt::{self, Write};

use abi::hypercall::CONSOLE_WRITE_MAX;

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

fn write(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let Some(taken) = hypercall::console_write(bytes) else {
            bytes.iter().copied().for_each(write_uart);
            return;
        };
        bytes = &bytes[taken..];
    }
}

// Its alignment keeps it in one page: the memory of a task is contiguous only in its own space.
#[repr(align(256))]
struct Buffer {
    bytes: [u8; CONSOLE_WRITE_MAX as usize],
    used: usize,
}

impl Buffer {
    fn flush(&mut self) {
        write(&self.bytes[..self.used]);
        self.used = 0;
    }
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.used == self.bytes.len() {
                self.flush();
            }
            self.bytes[self.used] = byte;
            self.used += 1;
        }
        Ok(())
    }
}

/// Prints formatted text; see [`crate::print!`] and [`crate::println!`].
pub fn print(text: fmt::Arguments<'_>) {
    let mut buffer = Buffer { bytes: [0; CONSOLE_WRITE_MAX as usize], used: 0 };
    // An error can only come from a formatter of this program that gives up: what it wrote is shown.
    let _ = buffer.write_fmt(text);
    buffer.flush();
}

/// Prints formatted text on the console.
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => { $crate::console::print(format_args!($($text)*)) };
}

/// Prints one line of formatted text on the console.
#[macro_export]
macro_rules! println {
    ($($text:tt)*) => { $crate::console::print(format_args!("{}\n", format_args!($($text)*))) };
}
