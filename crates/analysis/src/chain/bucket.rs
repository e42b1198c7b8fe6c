//! The messages that a token bucket lets pass in any window of time: `policy::channel::Bucket`.

use crate::chain::{EventStream, StreamError};
use crate::{Duration, LONGEST};

/// A token bucket: `tokens` in each `period` (`r` in `P`), and at most `burst` (`b`) at a time.
///
/// A window of length `t`, both ends included, has at most `b + floor(t r / P)` tokens: a leaky
/// bucket with rate `r / P` and burst `b` (Cruz, "A Calculus for Network Delay, Part I", IEEE
/// Transactions on Information Theory 1991). `policy::channel::Moderation` limits interrupts in the
/// same way, one token for each: those of a channel disturb the PCPU of its receiver like a task
/// with the stream [`stream(1)`](Bucket::stream), whatever its sender does.
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
    /// Makes the bound of a bucket whose period is no shorter; `None` if a parameter is 0, or the
    /// period longer than [`LONGEST`].
    pub fn new(tokens: u64, period: Duration, burst: u64) -> Option<Self> {
        let good = tokens > 0 && burst > 0 && (1..=LONGEST.0).contains(&period.0);
        good.then_some(Self { tokens, period: period.0, burst })
    }

    /// Returns the largest number of tokens that are taken in a window that contains both of its
    /// ends; saturates.
    pub fn tokens_in(&self, window: Duration) -> u64 {
        self.tokens_in_exactly(window).try_into().unwrap_or(u64::MAX)
    }

    /// Returns the largest number of messages that pass in a window that contains both of its ends,
    /// if each costs `cost` tokens at least; saturates. `None` for a cost of 0.
    pub fn messages_in(&self, window: Duration, cost: u64) -> Option<u64> {
        let messages = self.tokens_in_exactly(window).checked_div(cost.into())?;
        Some(messages.try_into().unwrap_or(u64::MAX))
    }

    /// Returns the stream of the messages that pass, if each costs `cost` tokens at least.
    ///
    /// `n` messages need `n cost <= b + t r / P`, so that the last one comes at least `(n - 1) cost
    /// P / r - (b - cost) P / r` after the first one: a stream with period `cost P / r`, rounded
    /// down, and jitter `(b - cost) P / r`, rounded up. With whole quotients it has as many
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

    /// Returns true if no message of this stream is ever dropped for want of tokens, if each costs
    /// `cost` tokens at most.
    ///
    /// A message is dropped if with it some window has more tokens than the bucket allows: message
    /// `n` of a window if `n cost > b + delta-(n) r / P`. As `delta-` is convex, the difference is
    /// largest for the first message, where `(n - 1) d` and `(n - 1) P_s - J` of the stream meet,
    /// or never.
    pub fn admits(&self, messages: &EventStream, cost: u64) -> bool {
        let [tokens, period, burst, cost] =
            [self.tokens, self.period, self.burst, cost].map(u128::from);
        if cost * period > u128::from(messages.period().0) * tokens {
            return false;
        }
        let apart = messages.period().0 - messages.distance().0;
        let meet = messages.jitter().0.checked_div(apart).unwrap_or(0);
        [1, meet + 1, meet + 2].into_iter().all(|number| {
            let comes = u128::from(messages.shortest(number).0);
            let needed = u128::from(number).checked_mul(cost).and_then(|it| it.checked_mul(period));
            let allowed = (burst * period).saturating_add(comes * tokens);
            needed.is_some_and(|needed| needed <= allowed)
        })
    }

    /// Returns the longest time from a message to its interrupt, if the bucket is that of a
    /// `policy::channel::Moderation`: until it has one token, `ceil(P / r)`. The policy counts
    /// ticks of a clock: the interrupt can be due a tick later, if a tick is longer than 1 ns.
    pub fn moderates_for(&self) -> Duration {
        Duration(self.period.div_ceil(self.tokens))
    }

    fn tokens_in_exactly(&self, window: Duration) -> u128 {
        let filled = u128::from(window.0) * u128::from(self.tokens) / u128::from(self.period);
        filled + u128::from(self.burst)
    }
}
