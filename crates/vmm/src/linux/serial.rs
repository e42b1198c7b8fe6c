//! The serial port, whose text is the console of the VM. Nobody types.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abi::kvm::TEXT_MAX;
use vm_superio::serial::NoEvents;
use vm_superio::{Serial, Trigger};

/// A serial port of type 16550.
#[derive(Debug)]
pub struct Port {
    device: Serial<Line, NoEvents, Text>,
    line: Line,
}

/// Its interrupt line.
#[derive(Clone, Debug, Default)]
struct Line(Arc<AtomicBool>);

impl Trigger for Line {
    type E = Infallible;

    fn trigger(&self) -> Result<(), Infallible> {
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Text that was written and not shown yet.
#[derive(Debug)]
struct Text(Vec<u8>);

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Default for Port {
    fn default() -> Self {
        let line = Line::default();
        // The VCPU executes no instruction while there is so much text, and one writes a page at most.
        let text = Text(Vec::with_capacity(TEXT_MAX as usize + 4096));
        Self { device: Serial::new(line.clone(), text), line }
    }
}

impl Port {
    /// Reads a register.
    pub fn read(&mut self, register: u8) -> u8 {
        self.device.read(register)
    }

    /// Writes a register.
    pub fn write(&mut self, register: u8, value: u8) {
        // Neither the line nor the text refuses anything.
        let _ = self.device.write(register, value);
    }

    /// Returns true if its interrupt line has risen since the last call.
    pub fn take_interrupt(&self) -> bool {
        self.line.0.swap(false, Ordering::Relaxed)
    }

    /// Returns true if there is text.
    pub fn has_text(&self) -> bool {
        !self.device.writer().0.is_empty()
    }

    /// Returns true if a line is complete, or there is no room for more text.
    pub fn is_complete(&self) -> bool {
        let text = &self.device.writer().0;
        text.last() == Some(&b'\n') || text.len() as u64 >= TEXT_MAX
    }

    /// Moves text into a buffer, no more than [`TEXT_MAX`].
    pub fn take_text(&mut self, text: &mut Vec<u8>) {
        let written = &mut self.device.writer_mut().0;
        let length = written.len().min(TEXT_MAX as usize);
        text.extend(written.drain(..length));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_waits_for_the_end_of_its_line_and_interrupts_are_told_once() {
        let mut port = Port::default();
        b"ab".iter().for_each(|byte| port.write(0, *byte));
        assert!(port.has_text() && !port.is_complete() && !port.take_interrupt());
        port.write(1, 2);
        assert!(port.take_interrupt() && !port.take_interrupt());
        port.write(0, b'\n');
        let mut text = Vec::new();
        assert!(port.is_complete());
        port.take_text(&mut text);
        assert_eq!((text.as_slice(), port.has_text()), (&b"ab\n"[..], false));
        (0..2 * TEXT_MAX + 1).for_each(|_| port.write(0, b'x'));
        let lengths = [0; 3].map(|_| {
            assert!(port.has_text());
            text.clear();
            port.take_text(&mut text);
            text.len() as u64
        });
        assert_eq!((lengths, port.has_text()), ([TEXT_MAX, TEXT_MAX, 1], false));
    }
}
