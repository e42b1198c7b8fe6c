//! A channel: a queue with a limit on its sender and a limit on the interrupts of its receiver.

use core::{error, fmt};

use super::{Bucket, Moderation, Signal};
use crate::time::Instant;

/// The state of a channel with one sender and one receiver, without its messages.
///
/// A sender that sends more than its bucket allows, or more than its receiver takes, loses messages
/// of its own and nothing else. A receiver that takes none keeps the queue full, and its sender
/// sees that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Channel {
    bucket: Bucket,
    moderation: Moderation,
    /// Messages that wait, and their maximum number.
    waiting: u32,
    capacity: u32,
}

/// The reason why a message is dropped. Its sender is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dropped {
    /// The bucket has not enough tokens.
    Rate,
    /// The queue is full. No token was taken.
    Full,
}

impl Channel {
    /// Makes the empty channel with this limit on its sender, this one on interrupts of the
    /// receiver, and a queue of `capacity` messages.
    pub fn new(bucket: Bucket, moderation: Moderation, capacity: u32) -> Self {
        Self { bucket, moderation, waiting: 0, capacity }
    }

    /// The sender sends a message at `now` that costs `tokens`, one at least. Returns the signal that
    /// follows if the message is let in.
    pub fn send(&mut self, tokens: u64, now: Instant) -> Result<Signal, Dropped> {
        if self.waiting >= self.capacity {
            return Err(Dropped::Full);
        }
        if !self.bucket.take(tokens.max(1), now) {
            return Err(Dropped::Rate);
        }
        self.waiting += 1;
        Ok(self.moderation.message(now))
    }

    /// The receiver takes the oldest message. Returns true if there was one.
    pub fn receive(&mut self) -> bool {
        let some = self.waiting > 0;
        self.waiting = self.waiting.saturating_sub(1);
        if self.waiting == 0 {
            self.moderation.emptied();
        }
        some
    }

    /// Returns true if an interrupt that was to be sent later is to be sent now.
    pub fn due(&mut self, now: Instant) -> bool {
        self.moderation.due(now)
    }

    /// Returns the instant of the interrupt that waits.
    pub fn waits(&self) -> Option<Instant> {
        self.moderation.waits()
    }

    /// Returns the number of messages that wait.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rate => "the sender sends more than it may",
            Self::Full => "the receiver takes too few messages",
        })
    }
}

impl error::Error for Dropped {}
