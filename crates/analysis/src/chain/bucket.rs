//! What a token bucket lets pass in any window of time: `policy::channel::Bucket`.

use crate::chain::{EventStream, StreamError};
use crate::{Duration, LONGEST};

/// A token bucket: `tokens` in each `period` (`r` in `P`), and at most `burst` (`b`) at a time.
///
/// A window of length `t`, both ends included, has at most `b + floor(t r / P)` tokens: a leaky bucket
/// with rate `r / P` and burst `b` (Cruz, "A Calculus for Network Delay, Part I", IEEE Transactions on
/// Information Theory 1991). `policy::channel::Moderation` limits interrupts in the same way, one token
/// for each.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Bucket {
    // Private: none is 0.
    tokens: u64,
    period: u64,
    burst: u64,
}

/// The reason why the messages that pass are no stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoStream {
    /// The bucket never holds as many tokens as a message costs.
    #[error("a message costs more tokens than the bucket holds, so that none passes")]
    NonePasses,
    /// Messages are less than 1 ns apart, or cost nothing.
    #[error("messages that pass can be less than 1 ns apart")]
    TooMany,
    /// The period or the jitter is too long.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

impl Bucket {
    /// Makes the bound of a bucket; `None` if a parameter is 0, or the period longer than [`LONGEST`].
    pub fn new(tokens: u64, period: Duration, burst: u64) -> Option<Self> {
        let good = tokens > 0 && burst > 0 && (1..=LONGEST.0).contains(&period.0);
        good.then_some(Self { tokens, period: period.0, burst })
    }

    /// Returns the largest number of tokens that are taken in a window that contains both of its ends;
    /// saturates.
    pub fn tokens_in(&self, window: Duration) -> u64 {
        self.tokens_in_exactly(window).try_into().unwrap_or(u64::MAX)
    }

    /// Returns the largest number of messages that pass in a window that contains both of its ends, if
    /// each costs `cost` tokens at least; saturates. `None` for a cost of 0.
    pub fn messages_in(&self, window: Duration, cost: u64) -> Option<u64> {
        let messages = self.tokens_in_exactly(window).checked_div(cost.into())?;
        Some(messages.try_into().unwrap_or(u64::MAX))
    }

    /// Returns the stream of the messages that pass, if each costs `cost` tokens at least.
    ///
    /// `n` messages need `n cost <= b + t r / P`, so that the last one comes at least
    /// `(n - 1) cost P / r - (b - cost) P / r` after the first one: a stream with period `cost P / r`,
    /// rounded down, and jitter `(b - cost) P / r`, rounded up. With whole quotients it has as many
    /// messages in each window as the bucket.
    ///
    /// # Errors
    ///
    /// See [`NoStream`].
    pub fn stream(&self, cost: u64) -> Result<EventStream, NoStream> {
        let saved = self.burst.checked_sub(cost).ok_or(NoStream::NonePasses)?;
        let time = |tokens: u64| u128::from(tokens) * u128::from(self.period);
        let [rate, counted] = [u128::from(self.tokens), u64::MAX.into()];
        let period = (time(cost) / rate).min(counted) as u64;
        let jitter = time(saved).div_ceil(rate).min(counted) as u64;
        match period {
            0 => Err(NoStream::TooMany),
            _ => Ok(EventStream::sporadic(Duration(period))?.with_jitter(Duration(jitter))?),
        }
    }

    /// Returns the longest time from a message to its interrupt, if the bucket is that of a
    /// `policy::channel::Moderation`: until it has one token, `ceil(P / r)`.
    pub fn moderates_for(&self) -> Duration {
        Duration(self.period.div_ceil(self.tokens))
    }

    fn tokens_in_exactly(&self, window: Duration) -> u128 {
        let filled = u128::from(window.0) * u128::from(self.tokens) / u128::from(self.period);
        filled + u128::from(self.burst)
    }
}
