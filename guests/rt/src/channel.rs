//! Messages in the memory of a channel ([`abi::channel`]): one VM writes, others read.
//!
//! A [`Writer`] and its [`Reader`]s never wait for each other, and no reader gets a part of one
//! message and a part of another. A reader that is slower than the writer loses messages, and is
//! told how many. What a reader finds in the memory is never used as a place in it: a writer that
//! misbehaves can make up messages, and nothing else.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering, fence};

use abi::channel::{
    BASE, EPOCH, MAGIC, MAGIC_VALUE, MESSAGE, NEWEST, NUMBER, SIZE, SLOTS, slot_bytes, slots,
};

/// Number of times that a reader tries to copy a message while the writer replaces it or opens the channel.
const TRIES: usize = 3;

/// The memory of a channel.
type Words<'a> = &'a [AtomicU64];

/// The memory has no room for a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooSmall;

/// The reason why there is no message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoMessage {
    /// None came since the last one.
    NothingNew,
    /// The writer has not opened the channel yet, or is opening it again.
    Closed,
    /// The writer sends messages of this size.
    OtherSize(u64),
    /// The writer replaced the message while it was copied, each time.
    TooFast,
}

/// A message that was received.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Received {
    /// Its number.
    pub number: u64,
    /// Messages before it that this reader never got, since the one that it got last.
    pub lost: u64,
    /// Number of times that the writer has opened the channel.
    pub epoch: u64,
}

/// The places of messages of one size in the memory.
#[derive(Clone, Copy, Debug)]
struct Layout<'a> {
    words: Words<'a>,
    size: usize,
    slots: usize,
}

impl<'a> Layout<'a> {
    fn new(words: Words<'a>, size: usize) -> Result<Self, TooSmall> {
        let bytes = 8 * words.len();
        // Beyond this there is no room, and sums could overflow.
        let slots = if (1..=bytes).contains(&size) { slots(bytes, size) } else { 0 };
        if slots == 0 { Err(TooSmall) } else { Ok(Self { words, size, slots }) }
    }

    fn header(self, offset: usize) -> &'a AtomicU64 {
        &self.words[offset / 8]
    }

    /// Returns the number in the slot of message `number`, and its message.
    fn slot(self, number: u64) -> (&'a AtomicU64, Words<'a>) {
        let place = number.wrapping_sub(1) % self.slots as u64;
        let bytes = slot_bytes(self.size);
        let first = (SLOTS + place as usize * bytes) / 8;
        let slot = &self.words[first..first + bytes / 8];
        (&slot[NUMBER / 8], &slot[MESSAGE / 8..])
    }
}

/// The one writer of a channel.
#[derive(Debug)]
pub struct Writer<'a> {
    layout: Layout<'a>,
    /// Number of the last message.
    number: u64,
}

impl<'a> Writer<'a> {
    /// Opens a channel for messages of `size` bytes. Numbers go on where they were, also after a
    /// restart of the VM. Messages of another size are gone.
    ///
    /// # Errors
    ///
    /// There is no room for one message.
    pub fn open(words: Words<'a>, size: usize) -> Result<Self, TooSmall> {
        let layout = Layout::new(words, size)?;
        let load = |offset| layout.header(offset).load(Ordering::Relaxed);
        let store = |offset, value| layout.header(offset).store(value, Ordering::Relaxed);
        // It is odd if the VM was restarted while it opened the channel: what was done is done again.
        let (epoch, interrupted) = (load(EPOCH) & !1, load(EPOCH) & 1 != 0);
        let opening = epoch.wrapping_add(if interrupted { 3 } else { 1 });
        store(EPOCH, opening);
        fence(Ordering::Release);
        if load(MAGIC) != MAGIC_VALUE {
            store(NEWEST, 0);
            store(MAGIC, MAGIC_VALUE);
        }
        if interrupted || load(SIZE) != size as u64 {
            store(BASE, load(NEWEST));
            words[SLOTS / 8..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
            store(SIZE, size as u64);
        }
        layout.header(EPOCH).store(opening.wrapping_add(1), Ordering::Release);
        Ok(Self { layout, number: load(NEWEST) })
    }

    /// Sends a message, of which as many bytes count as messages have; missing ones are 0. Returns
    /// its number.
    pub fn send(&mut self, message: &[u8]) -> u64 {
        let number = self.number.wrapping_add(1).max(1);
        let (state, words) = self.layout.slot(number);
        state.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        let message = &message[..message.len().min(self.layout.size)];
        for (index, word) in words.iter().enumerate() {
            let rest = message.get(8 * index..).unwrap_or_default();
            let mut bytes = [0; 8];
            let count = rest.len().min(8);
            bytes[..count].copy_from_slice(&rest[..count]);
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        state.store(number, Ordering::Relaxed);
        // Whoever sees this number sees the message.
        self.layout.header(NEWEST).store(number, Ordering::Release);
        self.number = number;
        number
    }
}

/// A reader of a channel.
#[derive(Debug)]
pub struct Reader<'a> {
    layout: Layout<'a>,
    /// Number of the last message that was received.
    seen: u64,
}

impl<'a> Reader<'a> {
    /// Makes a reader of messages of `size` bytes.
    ///
    /// # Errors
    ///
    /// There is no room for one message.
    pub fn new(words: Words<'a>, size: usize) -> Result<Self, TooSmall> {
        Ok(Self { layout: Layout::new(words, size)?, seen: 0 })
    }

    /// Receives the newest message into `message`, and skips those before it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn newest(&mut self, message: &mut [u8]) -> Result<Received, NoMessage> {
        self.receive(message, |_, newest| newest)
    }

    /// Receives the oldest message that comes after the last one and is still there.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn next(&mut self, message: &mut [u8]) -> Result<Received, NoMessage> {
        let slots = self.layout.slots as u64;
        // The writer may be replacing the oldest one.
        self.receive(message, |next, newest| {
            next.max(newest.saturating_sub(slots.saturating_sub(2))).min(newest)
        })
    }

    /// Receives the message that `choose` chooses from the first that was not received to the
    /// newest.
    fn receive(
        &mut self,
        message: &mut [u8],
        choose: impl Fn(u64, u64) -> u64,
    ) -> Result<Received, NoMessage> {
        let header = |offset| self.layout.header(offset);
        for _ in 0..TRIES {
            let epoch = header(EPOCH).load(Ordering::Acquire);
            if header(MAGIC).load(Ordering::Relaxed) != MAGIC_VALUE || epoch & 1 != 0 {
                return Err(NoMessage::Closed);
            }
            let size = header(SIZE).load(Ordering::Relaxed);
            let newest = header(NEWEST).load(Ordering::Acquire);
            let base = header(BASE).load(Ordering::Relaxed);
            if newest < self.seen {
                // No writer that keeps to the rules does that.
                self.seen = 0;
            }
            let last = self.seen.max(base);
            let found = if size != self.layout.size as u64 {
                Err(NoMessage::OtherSize(size))
            } else if newest <= last {
                Err(NoMessage::NothingNew)
            } else {
                let number = choose(last + 1, newest);
                Ok(self.copy(number, message).then_some(number))
            };
            // Nothing that was read is of another opening.
            fence(Ordering::Acquire);
            if header(EPOCH).load(Ordering::Relaxed) != epoch {
                continue;
            }
            if let Some(number) = found? {
                let lost = number - self.seen - 1;
                self.seen = number;
                return Ok(Received { number, lost, epoch: epoch / 2 });
            }
        }
        Err(NoMessage::TooFast)
    }

    /// Copies a message. Returns false if the writer replaced it meanwhile.
    fn copy(&self, number: u64, message: &mut [u8]) -> bool {
        let (state, words) = self.layout.slot(number);
        if state.load(Ordering::Relaxed) != number {
            return false;
        }
        let size = message.len().min(self.layout.size);
        for (part, word) in message[..size].chunks_mut(8).zip(words) {
            part.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes()[..part.len()]);
        }
        fence(Ordering::Acquire);
        state.load(Ordering::Relaxed) == number
    }
}

impl fmt::Display for TooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the channel has no room for one message of this size")
    }
}

impl fmt::Display for NoMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingNew => f.write_str("nothing new"),
            Self::Closed => f.write_str("the writer has not opened the channel"),
            Self::OtherSize(size) => write!(f, "the writer sends messages of {size} bytes"),
            Self::TooFast => f.write_str("the writer replaces messages faster than they are read"),
        }
    }
}

#[cfg(test)]
mod tests;
