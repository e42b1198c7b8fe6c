//! Messages in the memory of a channel ([`abi::channel`]): one VM writes, others read.
//!
//! A [`Writer`] and its [`Reader`]s never wait for each other, and no reader gets a part of one
//! message and a part of another. A reader that is slower than the writer loses messages, and is
//! told how many. What a reader finds in the memory is never used as a place in it: a writer that
//! misbehaves can make up messages, and nothing else.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering, fence};

use abi::channel::{
    EPOCH, MAGIC, MAGIC_VALUE, MESSAGE, NEWEST, NUMBER, SIZE, SLOTS, slot_bytes, slots,
};

/// How often a reader tries to copy a message that the writer replaces meanwhile.
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
    /// The writer has not opened the channel yet.
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
    /// How often the writer has opened the channel.
    pub epoch: u64,
}

/// Where messages of one size are in the memory.
#[derive(Clone, Copy, Debug)]
struct Layout<'a> {
    words: Words<'a>,
    size: usize,
    slots: usize,
}

impl<'a> Layout<'a> {
    fn new(words: Words<'a>, size: usize) -> Result<Self, TooSmall> {
        let slots = slots(8 * words.len(), size);
        if size == 0 || slots == 0 { Err(TooSmall) } else { Ok(Self { words, size, slots }) }
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
    /// Opens a channel for messages of `size` bytes. After a restart of the VM, numbers go on.
    ///
    /// # Errors
    ///
    /// There is no room for one message.
    pub fn open(words: Words<'a>, size: usize) -> Result<Self, TooSmall> {
        let layout = Layout::new(words, size)?;
        let header = |offset| layout.header(offset);
        let opened = header(MAGIC).load(Ordering::Relaxed) == MAGIC_VALUE;
        let same = opened && header(SIZE).load(Ordering::Relaxed) == size as u64;
        header(MAGIC).store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        if !same {
            header(NEWEST).store(0, Ordering::Relaxed);
            layout.words[SLOTS / 8..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
        header(SIZE).store(size as u64, Ordering::Relaxed);
        let epoch = header(EPOCH).load(Ordering::Relaxed);
        header(EPOCH).store(epoch.wrapping_add(1), Ordering::Relaxed);
        header(MAGIC).store(MAGIC_VALUE, Ordering::Release);
        Ok(Self { layout, number: header(NEWEST).load(Ordering::Relaxed) })
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
        if header(MAGIC).load(Ordering::Acquire) != MAGIC_VALUE {
            return Err(NoMessage::Closed);
        }
        let size = header(SIZE).load(Ordering::Relaxed);
        if size != self.layout.size as u64 {
            return Err(NoMessage::OtherSize(size));
        }
        for _ in 0..TRIES {
            let newest = header(NEWEST).load(Ordering::Acquire);
            if newest < self.seen {
                // The writer began anew.
                self.seen = 0;
            }
            if newest == self.seen {
                return Err(NoMessage::NothingNew);
            }
            let next = self.seen + 1;
            let number = choose(next, newest);
            if self.copy(number, message) {
                let epoch = header(EPOCH).load(Ordering::Relaxed);
                self.seen = number;
                return Ok(Received { number, lost: number - next, epoch });
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
