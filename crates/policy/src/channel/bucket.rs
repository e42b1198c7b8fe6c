//! A token bucket: a limit on what passes in any window of time.

use super::{Parameters, ParametersError};
use crate::time::{Duration, Instant};

/// A token bucket (Turner, "New Directions in Communications (or Which Way to the Information
/// Age?)", IEEE Communications Magazine 1986).
///
/// Whatever is asked for, in a window from one instant to another one `t` later, both included, at
/// most
///
/// ```text
/// b + floor(t r / P)
/// ```
///
/// tokens are taken, and nothing is refused that keeps to this bound with all that was taken
/// before. The level is counted in parts of a token, `1 / P` of one, so that the rate is exact for
/// all time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bucket {
    /// Tokens in each period, and its length in ticks: in lowest terms. A tick adds `tokens` parts.
    tokens: u64,
    period: u64,
    /// The level of the full bucket in parts: `b P`.
    full: u64,
    /// The level at `last`.
    level: u64,
    last: Instant,
}

impl Bucket {
    /// Makes a full bucket.
    pub fn new(parameters: Parameters) -> Result<Self, ParametersError> {
        let Parameters { tokens, period, burst } = parameters.check()?;
        let full = burst.saturating_mul(period.0);
        Ok(Self { tokens, period: period.0, full, level: full, last: Instant(0) })
    }

    /// Takes `tokens` from the bucket at `now`. Returns true if the bucket had them; if not, none is
    /// taken.
    pub fn take(&mut self, tokens: u64, now: Instant) -> bool {
        self.fill(now);
        let rest = tokens.checked_mul(self.period).and_then(|it| self.level.checked_sub(it));
        if let Some(rest) = rest {
            self.level = rest;
        }
        rest.is_some()
    }

    /// Returns the earliest instant, `now` or later, at which `tokens` can be taken if nothing else
    /// is taken before; `None` if the bucket never holds that number.
    pub fn available(&self, tokens: u64, now: Instant) -> Option<Instant> {
        let wanted = tokens.checked_mul(self.period).filter(|wanted| *wanted <= self.full)?;
        let lacking = wanted.saturating_sub(self.level);
        let filled = self.last + Duration(lacking.div_ceil(self.tokens));
        Some(filled.max(now))
    }

    /// Returns the number of whole tokens in the bucket at `now`.
    pub fn level(&self, now: Instant) -> u64 {
        self.level_at(now) / self.period
    }

    /// Returns the longest time until an empty bucket has one token.
    pub fn interval(&self) -> Duration {
        Duration(self.period.div_ceil(self.tokens))
    }

    fn fill(&mut self, now: Instant) {
        self.level = self.level_at(now);
        self.last = self.last.max(now);
    }

    fn level_at(&self, now: Instant) -> u64 {
        let parts = (now - self.last).0.saturating_mul(self.tokens);
        self.level.saturating_add(parts).min(self.full)
    }
}
