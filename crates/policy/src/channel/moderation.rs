//! Moderation: how often a receiver is interrupted.

use super::{Bucket, Parameters, ParametersError};
use crate::time::Instant;

/// The interrupt that follows from a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Signal {
    /// The receiver is to be interrupted now.
    Now,
    /// The receiver is to be interrupted at this instant, for this message and those that come
    /// until then: the caller then calls [`Moderation::due`].
    Later(Instant),
    /// An interrupt for an earlier message is due at a later instant and will be for this message
    /// too.
    Waits,
}

/// A limit on interrupts: a bucket, from which each interrupt takes one token, and at most one
/// interrupt that waits for a token.
///
/// With `n` tokens in each period `P`, of which at most `b` are saved up, a window of length `t`,
/// both ends included, has at most `b + floor(t n / P)` interrupts, and one follows each message
/// within `ceil(P / n)`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Moderation {
    bucket: Bucket,
    /// The instant of the interrupt that waits.
    due: Option<Instant>,
}

impl Moderation {
    /// Makes a limit, with the saved interrupts that [`Parameters::burst`] says.
    pub fn new(parameters: Parameters) -> Result<Self, ParametersError> {
        Ok(Self { bucket: Bucket::new(parameters)?, due: None })
    }

    /// A message for the receiver came at `now`.
    pub fn message(&mut self, now: Instant) -> Signal {
        if self.due.is_some() {
            // An instant that has passed unnoticed is not waited for any longer.
            return if self.due(now) { Signal::Now } else { Signal::Waits };
        }
        if self.bucket.take(1, now) {
            return Signal::Now;
        }
        // A bucket holds one token at least.
        let due = self.bucket.available(1, now).unwrap_or(now);
        self.due = Some(due);
        Signal::Later(due)
    }

    /// Returns true if the interrupt that waits is to be sent now; then none waits any longer.
    pub fn due(&mut self, now: Instant) -> bool {
        let sent = self.due.is_some_and(|due| due <= now) && self.bucket.take(1, now);
        if sent {
            self.due = None;
        }
        sent
    }

    /// Returns the instant of the interrupt that waits.
    pub fn waits(&self) -> Option<Instant> {
        self.due
    }

    /// The receiver has taken all messages: no interrupt has to follow.
    pub fn emptied(&mut self) {
        self.due = None;
    }
}
