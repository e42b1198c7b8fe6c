//! The console: Bulkhead's hypercall where there is one, else the PL011, polled; on x86-64 a call of [`abi::kvm`].
//!
//! There is no lock: a line is one write as long as it fits the buffer, but lines that several
//! tasks or processors print at the same time may mix on the PL011.

#[cfg(target_arch = "aarch64")]
mod uart;

use core::fmt::{self, Write};

use abi::hypercall::CONSOLE_WRITE_MAX;

#[cfg(target_arch = "x86_64")]
use crate::arch::call::write;
#[cfg(target_arch = "aarch64")]
use uart::write;
#[cfg(target_arch = "aarch64")]
pub use uart::{enable, write_uart};

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
