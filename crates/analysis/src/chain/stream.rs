//! Streams of events: the number of events that can come in a window of time.

use crate::chain::Delay;
use crate::{Duration, LONGEST};

/// A stream of events with period `P`, jitter `J` and least distance `d` (Richter, "Compositional
/// Scheduling Analysis Using Standard Event Models", 2005; the `PJd` model of pyCPA).
///
/// Event `k` has a *nominal time* `n_k` and comes at any time from `n_k` to `n_k + J`. Nominal
/// times are at least `P` apart, and at most the *longest distance* `L`, if the stream has one: a
/// periodic stream has `L = P`, a sporadic one has none. Two events are at least `d` apart. With `J
/// >= P` events come in bursts, `d` apart.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct EventStream {
    // Private: `d <= P <= L`, `P > 0`, none above `LONGEST`.
    period: u64,
    jitter: u64,
    distance: u64,
    longest: Option<u64>,
}

/// The reason why there is no such stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum StreamError {
    /// A period of 0.
    #[error("the period is 0")]
    NoPeriod,
    /// The least distance of two events is longer than the period.
    #[error("events that are {distance} apart do not come once in {period}")]
    TooFarApart {
        /// The least distance.
        distance: Duration,
        /// The period.
        period: Duration,
    },
    /// The longest distance of two nominal times is shorter than the period.
    #[error("nominal times are at least {period} apart, not at most {longest}")]
    TooClose {
        /// The longest distance.
        longest: Duration,
        /// The period.
        period: Duration,
    },
    /// A time that is longer than [`LONGEST`].
    #[error("{0} is longer than analyses can count: at most {LONGEST}")]
    TooLong(Duration),
}

impl EventStream {
    /// A stream whose nominal times are exactly `P` apart.
    ///
    /// # Errors
    ///
    /// See [`StreamError`].
    pub fn periodic(period: Duration) -> Result<Self, StreamError> {
        Self::sporadic(period)?.with_longest(period)
    }

    /// A stream whose nominal times are at least `P` apart: perhaps no event comes.
    ///
    /// # Errors
    ///
    /// See [`StreamError`].
    pub fn sporadic(period: Duration) -> Result<Self, StreamError> {
        match checked(period)? {
            0 => Err(StreamError::NoPeriod),
            period => Ok(Self { period, jitter: 0, distance: 0, longest: None }),
        }
    }

    /// Returns the same stream with a jitter `J`.
    pub fn with_jitter(self, jitter: Duration) -> Result<Self, StreamError> {
        Ok(Self { jitter: checked(jitter)?, ..self })
    }

    /// Returns the same stream, in which two events are at least `d` apart.
    pub fn with_distance(self, distance: Duration) -> Result<Self, StreamError> {
        match checked(distance)? {
            it if it > self.period => {
                Err(StreamError::TooFarApart { distance, period: self.period() })
            }
            distance => Ok(Self { distance, ..self }),
        }
    }

    /// Returns the same stream, in which nominal times are at most `L` apart.
    pub fn with_longest(self, longest: Duration) -> Result<Self, StreamError> {
        match checked(longest)? {
            it if it < self.period => Err(StreamError::TooClose { longest, period: self.period() }),
            longest => Ok(Self { longest: Some(longest), ..self }),
        }
    }

    /// Returns the least time between two nominal times: `P`.
    pub fn period(&self) -> Duration {
        Duration(self.period)
    }

    /// Returns the longest time from a nominal time to its event: `J`.
    pub fn jitter(&self) -> Duration {
        Duration(self.jitter)
    }

    /// Returns the least time between two events: `d`.
    pub fn distance(&self) -> Duration {
        Duration(self.distance)
    }

    /// Returns the longest time between two nominal times: `L`; `None` if there is no limit.
    pub fn longest(&self) -> Option<Duration> {
        self.longest.map(Duration)
    }

    /// `eta+`: returns the largest number of events in a window that contains one of its two ends,
    /// `min(ceil((w + J) / P), ceil(w / d))`; saturates.
    pub fn events_in(&self, window: Duration) -> u64 {
        match window {
            Duration(0) => 0,
            Duration(window) => self.events_in_closed(Duration(window - 1)),
        }
    }

    /// Returns the largest number of events in a window that contains both of its ends,
    /// `min(floor((w + J) / P), floor(w / d)) + 1`; saturates.
    pub fn events_in_closed(&self, window: Duration) -> u64 {
        let by_period = (u128::from(window.0) + u128::from(self.jitter)) / u128::from(self.period);
        let by_distance = window.0.checked_div(self.distance).map_or(by_period, u128::from);
        (by_period.min(by_distance) + 1).try_into().unwrap_or(u64::MAX)
    }

    /// `eta-`: returns the number of events that certainly come in a window, `floor((w - J) / L)`.
    pub fn least_events_in(&self, window: Duration) -> u64 {
        match self.longest {
            Some(longest) => window.0.saturating_sub(self.jitter) / longest,
            None => 0,
        }
    }

    /// `delta-`: returns the shortest time from the first to the last of `n` events,
    /// `max((n - 1) P - J, (n - 1) d)`; saturates.
    pub fn shortest(&self, events: u64) -> Duration {
        let gaps = u128::from(events.saturating_sub(1));
        let by_period = (gaps * u128::from(self.period)).saturating_sub(self.jitter.into());
        let by_distance = gaps * u128::from(self.distance);
        Duration(by_period.max(by_distance).try_into().unwrap_or(u64::MAX))
    }

    /// Returns the stream of the outputs of a step that these events activate, which complete with
    /// this delay: `J' = J + worst - best`, `d' = apart`, or with a delay from each event
    /// `d' = max(d - (worst - best), apart)`.
    ///
    /// An output has the nominal time of its event, later by `best`. Of two consecutive events the
    /// second one takes at most `worst - best` less than the first one, if both delays count from
    /// the event.
    ///
    /// # Errors
    ///
    /// [`StreamError::TooLong`], if the jitter is.
    pub fn after(self, delay: &Delay) -> Result<Self, StreamError> {
        let varies = delay.worst().0 - delay.best().0;
        let kept = if delay.is_from_event() { self.distance.saturating_sub(varies) } else { 0 };
        let distance = kept.max(delay.apart().0);
        // A shorter distance than the real one is safe.
        let distance = distance.min(self.period);
        Self { distance, ..self }.with_jitter(Duration(self.jitter + varies))
    }

    /// Returns the same stream with the largest distance.
    pub(super) fn farthest(self) -> Self {
        Self { distance: self.period, ..self }
    }

    /// Returns the same stream with the jitter and the distance of others of the same period.
    pub(super) fn with_those_of(self, jitter: &Self, distance: &Self) -> Self {
        Self { jitter: jitter.jitter, distance: distance.distance, ..self }
    }
}

fn checked(time: Duration) -> Result<u64, StreamError> {
    if time > LONGEST { Err(StreamError::TooLong(time)) } else { Ok(time.0) }
}
