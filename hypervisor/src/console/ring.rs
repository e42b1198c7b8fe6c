//! The bytes of one source that the terminal has not seen yet.

use core::fmt::{self, Write};

/// Bytes that a ring holds; a power of two.
pub const RING_SIZE: usize = 2048;

/// A line that is this long is shown, though it is not complete.
pub const LONG_LINE: usize = 256;

/// A queue of bytes that knows how many complete lines it holds.
pub(super) struct Ring {
    bytes: [u8; RING_SIZE],
    // Bytes ever put in and taken out; they wrap. `pushed - popped <= RING_SIZE`.
    pushed: u32,
    popped: u32,
    // Line feeds in the queue.
    lines: u32,
    /// Messages that did not fit.
    lost: u32,
    /// The source was refused and wants to know when there is room.
    pub(super) starved: bool,
}

impl Ring {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; RING_SIZE], pushed: 0, popped: 0, lines: 0, lost: 0, starved: false }
    }

    pub(super) fn len(&self) -> usize {
        self.pushed.wrapping_sub(self.popped) as usize
    }

    pub(super) fn space(&self) -> usize {
        RING_SIZE - self.len()
    }

    /// Bytes ever put in, modulo 2^32.
    pub(super) fn pushed(&self) -> u32 {
        self.pushed
    }

    /// Returns true if all is out that had been put in when [`Ring::pushed`] was `until`.
    pub(super) fn has_popped(&self, until: u32) -> bool {
        self.popped.wrapping_sub(until) <= RING_SIZE as u32
    }

    /// Returns true if there is a complete line, or one so long that it need not be complete.
    pub(super) fn is_ready(&self) -> bool {
        self.lines > 0 || self.len() >= LONG_LINE
    }

    /// Takes as many of `bytes` as there is room for, and returns their number.
    pub(super) fn push(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.space());
        for &byte in &bytes[..taken] {
            self.bytes[self.pushed as usize % RING_SIZE] = byte;
            self.pushed = self.pushed.wrapping_add(1);
            self.lines += u32::from(byte == b'\n');
        }
        taken
    }

    pub(super) fn pop(&mut self) -> Option<u8> {
        if self.len() == 0 {
            return None;
        }
        let byte = self.bytes[self.popped as usize % RING_SIZE];
        self.popped = self.popped.wrapping_add(1);
        self.lines -= u32::from(byte == b'\n');
        Some(byte)
    }

    /// Forgets all bytes and returns the number of lines that they ended.
    pub(super) fn discard(&mut self) -> u32 {
        self.popped = self.pushed;
        core::mem::take(&mut self.lines)
    }

    /// Puts in a message of whole lines, or counts it as lost if it does not fit.
    pub(super) fn push_message(&mut self, message: fmt::Arguments) {
        let (pushed, lines) = (self.pushed, self.lines);
        let mut text = Text { ring: self, ends_line: false };
        let fits =
            text.write_fmt(message).is_ok() && (text.ends_line || text.write_str("\n").is_ok());
        if !fits {
            (self.pushed, self.lines) = (pushed, lines);
            self.lost = self.lost.saturating_add(1);
        }
    }

    /// Puts in a line about lost bytes once all bytes that had room are out.
    pub(super) fn report_lost(&mut self) {
        if self.lost > 0 && self.len() == 0 {
            let lost = u64::from(core::mem::take(&mut self.lost));
            self.push_message(format_args!(
                "{lost} messages lost: they came faster than the UART takes them"
            ));
        }
    }
}

/// Formats into a ring; fails when it is full.
struct Text<'a> {
    ring: &'a mut Ring,
    ends_line: bool,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if let Some(last) = text.as_bytes().last() {
            self.ends_line = *last == b'\n';
        }
        if self.ring.push(text.as_bytes()) < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}
