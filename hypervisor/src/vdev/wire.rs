//! One direction of a serial line: bytes that one VM has sent and another one has not read. Neither side waits for the
//! other.
//!
//! The reader sees a byte only when the sender has *shown* it, which the sender may do as often as the limit of
//! the line lets it. So however fast the sender is, the reader has at most [`WIRE_SIZE`] bytes to read each time.
//!
//! Only one CPU at a time sends and shows, and only one reads: each side has a lock of its own.

use alloc::boxed::Box;
use core::array;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, fence};

/// Bytes that a wire holds; a power of two.
pub const WIRE_SIZE: u32 = 1024;

/// A queue of bytes.
pub struct Wire {
    bytes: [AtomicU8; WIRE_SIZE as usize],
    // Bytes ever sent, shown and read; they wrap. `sent - read <= WIRE_SIZE`.
    sent: AtomicU32,
    shown: AtomicU32,
    read: AtomicU32,
    /// There was no room for a byte, and the sender was not told of room since.
    starved: AtomicBool,
}

impl Wire {
    /// A wire without bytes.
    #[inline(never)]
    pub fn new() -> Box<Self> {
        Box::new(Self {
            bytes: array::from_fn(|_| AtomicU8::new(0)),
            sent: AtomicU32::new(0),
            shown: AtomicU32::new(0),
            read: AtomicU32::new(0),
            starved: AtomicBool::new(false),
        })
    }

    /// Returns the number of bytes that were sent and not read.
    fn used(&self) -> u32 {
        self.sent.load(Acquire).wrapping_sub(self.read.load(Acquire))
    }

    /// The sender sends the first ones of these bytes, as many as there is room for, and gets their number. If that is not all,
    /// the reader is to tell when there is room.
    #[inline(never)]
    pub fn send(&self, bytes: &[u8]) -> usize {
        let mut room = WIRE_SIZE - self.used();
        if (room as usize) < bytes.len() {
            self.starved.store(true, Relaxed);
            // The reader makes room before it looks for this.
            fence(SeqCst);
            room = WIRE_SIZE - self.used();
        }
        let (before, mut sent) = (self.sent.load(Relaxed), 0);
        for byte in bytes.iter().take(room as usize) {
            let place = before.wrapping_add(sent) % WIRE_SIZE;
            self.bytes[place as usize].store(*byte, Relaxed);
            sent += 1;
        }
        self.sent.store(before.wrapping_add(sent), Relaxed);
        sent as usize
    }

    /// Returns true if the sender has bytes to show.
    pub fn has_news(&self) -> bool {
        self.sent.load(Relaxed) != self.shown.load(Relaxed)
    }

    /// The sender shows the bytes that it has sent.
    pub fn show(&self) {
        self.shown.store(self.sent.load(Relaxed), Release);
    }

    /// Returns the number of bytes that the reader sees.
    pub fn waiting(&self) -> u32 {
        let waiting = self.shown.load(Acquire).wrapping_sub(self.read.load(Relaxed));
        // It may have forgotten bytes that it did not see.
        if waiting <= WIRE_SIZE { waiting } else { 0 }
    }

    /// The reader reads a byte.
    pub fn receive(&self) -> Option<u8> {
        if self.waiting() == 0 {
            return None;
        }
        let read = self.read.load(Relaxed);
        let byte = self.bytes[(read % WIRE_SIZE) as usize].load(Relaxed);
        self.read.store(read.wrapping_add(1), Release);
        Some(byte)
    }

    /// The reader forgets all bytes, also those that it does not see.
    pub fn discard(&self) {
        self.read.store(self.sent.load(Acquire), Release);
    }

    /// The reader has read. Returns true if the sender has to be told that there is room: half a wire, so that it is told
    /// rarely.
    pub fn has_room_again(&self) -> bool {
        fence(SeqCst);
        self.starved.load(Relaxed)
            && self.used() <= WIRE_SIZE / 2
            && self.starved.swap(false, Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_in_order_when_they_are_shown() {
        let wire = Wire::new();
        assert!(wire.send(&[1, 2]) == 2 && wire.has_news());
        assert_eq!((wire.waiting(), wire.receive()), (0, None));
        wire.show();
        assert!(!wire.has_news() && wire.send(&[3]) == 1);
        assert_eq!((wire.receive(), wire.receive(), wire.receive()), (Some(1), Some(2), None));
    }

    #[test]
    fn a_full_wire_takes_nothing_and_says_when_it_does() {
        let wire = Wire::new();
        assert!((0..WIRE_SIZE - 1).all(|byte| wire.send(&[byte as u8]) == 1));
        assert!(!wire.has_room_again(), "nobody has asked");
        assert_eq!(wire.send(&[0xff, 0]), 1, "there is room for one");
        assert_eq!(wire.send(&[0]), 0);
        wire.show();
        for byte in 0..WIRE_SIZE / 2 {
            assert!(!wire.has_room_again());
            assert_eq!(wire.receive(), Some(byte as u8));
        }
        assert!(wire.has_room_again() && !wire.has_room_again(), "once");
        assert_eq!(wire.send(&[0; WIRE_SIZE as usize]), WIRE_SIZE as usize / 2);
        wire.show();
        let rest = (WIRE_SIZE / 2..WIRE_SIZE).map(|byte| byte as u8);
        assert!(rest.chain([0; WIRE_SIZE as usize / 2]).all(|byte| wire.receive() == Some(byte)));
        assert_eq!(wire.receive(), None);
    }

    #[test]
    fn who_forgets_sees_only_what_is_sent_later() {
        let wire = Wire::new();
        wire.send(&[1]);
        wire.show();
        wire.send(&[2]);
        wire.discard();
        assert_eq!((wire.waiting(), wire.receive()), (0, None));
        wire.show();
        assert_eq!(wire.receive(), None);
        wire.send(&[3]);
        wire.show();
        assert_eq!((wire.receive(), wire.receive()), (Some(3), None));
    }
}
