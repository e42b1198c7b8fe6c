//! The last words of a hypervisor that panics.

use core::fmt::{self, Write};
use core::sync::atomic::Ordering;

use abi::console::HYPERVISOR_LABEL;

use super::sources::HYPERVISOR;
use super::{Console, Uart, send_polled};

impl<U: Uart> Console<U> {
    /// Prints lines of the hypervisor when nothing can be relied on: waits for no lock, polls the
    /// UART.
    ///
    /// From the first call on, nobody else uses the UART. Messages of the hypervisor that
    /// had not been sent come first, unless the lock over them is held.
    pub fn emergency(&self, message: fmt::Arguments) {
        let first = !self.emergency.swap(true, Ordering::SeqCst);
        let Some(uart) = self.uart.get() else { return };
        let mut text = Polled { uart, alive: true, line_start: true };
        if first {
            self.send_unsent(&mut text);
        }
        // `Polled` never fails; a `Display` of the message may, and then its text ends there.
        let _ = text.write_fmt(message);
        if !text.line_start {
            text.byte(b'\n');
        }
    }

    /// Sends the bytes that the multiplexer holds and the hypervisor's messages, as far as nobody has them locked.
    fn send_unsent(&self, text: &mut Polled<U>) {
        let mut within_line = false;
        if let Some(mut mux) = self.mux.try_lock() {
            while let Some(byte) = mux.staging.pop() {
                text.send(&[byte]);
            }
            within_line = mux.is_open(HYPERVISOR);
        }
        if !within_line {
            text.byte(b'\n');
        }
        if let Some(mut ring) = self.sources.try_lock(HYPERVISOR) {
            text.line_start = !within_line;
            while let Some(byte) = ring.pop() {
                text.byte(byte);
            }
        }
        if !text.line_start {
            text.byte(b'\n');
        }
    }
}

/// Writes labelled lines, byte by byte, unless the UART is dead.
struct Polled<'a, U> {
    uart: &'a U,
    alive: bool,
    line_start: bool,
}

impl<U: Uart> Polled<'_, U> {
    fn byte(&mut self, byte: u8) {
        if byte == b'\n' {
            self.send(b"\r\n");
            self.line_start = true;
            return;
        }
        if core::mem::take(&mut self.line_start) {
            self.send(HYPERVISOR_LABEL.as_bytes());
        }
        self.send(&[byte]);
    }

    fn send(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.alive = self.alive && send_polled(self.uart, byte);
        }
    }
}

impl<U: Uart> Write for Polled<'_, U> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.byte(byte));
        Ok(())
    }
}
