//! Bytes on their way from the rings to the UART.

use super::names::LABEL_MAX;

const SIZE: usize = 128;

/// Most bytes that stand for one byte of a guest: the end of another's line, a
/// label, and an escaped byte.
const WORST: usize = 2 + LABEL_MAX + 4;

/// A small buffer, filled when it is empty and then sent byte by byte.
pub(super) struct Staging {
    bytes: [u8; SIZE],
    start: usize,
    end: usize,
}

impl Staging {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; SIZE], start: 0, end: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns true if there is room for all bytes that one more byte of a guest may become.
    pub(super) fn takes_more(&self) -> bool {
        SIZE - self.end >= WORST
    }

    /// Appends a byte; the caller has asked [`Staging::takes_more`].
    pub(super) fn push(&mut self, byte: u8) {
        debug_assert!(self.end < SIZE);
        if let Some(place) = self.bytes.get_mut(self.end) {
            *place = byte;
            self.end += 1;
        }
    }

    /// Appends a few bytes; as for [`Staging::push`].
    #[inline(never)]
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        let end = self.end + bytes.len();
        debug_assert!(end <= SIZE);
        if let Some(place) = self.bytes.get_mut(self.end..end) {
            // Their lengths are the same: this needs no panic.
            place.iter_mut().zip(bytes).for_each(|(place, &byte)| *place = byte);
            self.end = end;
        }
    }

    pub(super) fn pop(&mut self) -> Option<u8> {
        if self.is_empty() {
            return None;
        }
        let byte = self.bytes[self.start];
        self.start += 1;
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
        }
        Some(byte)
    }
}
