//! Queues between a writer and its reader: the number of messages that wait, and the time for which they wait.
//!
//! A message waits from its arrival in the queue until its reader has taken it. All counts include
//! messages that arrive or are taken at the instant at which they are counted, so that a buffer
//! with as many places never drops one, whatever the order at that instant.

use crate::chain::{EventStream, Sampling};
use crate::{Duration, LONGEST};

/// The largest backlog of a queue, and the longest wait in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Queue {
    /// Messages that wait at most: the places that a buffer needs.
    pub messages: u64,
    /// Longest time from the arrival of a message until its reader has taken it and, if it takes it
    /// time, processed it.
    pub wait: Duration,
}

/// The reason why a queue has no bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum QueueError {
    /// In the long run more messages come than the reader takes.
    #[error("one message comes each {period}, and the reader takes {taken} each {read}")]
    Overload {
        /// The period of the messages.
        period: Duration,
        /// The messages that the reader takes at a time.
        taken: u64,
        /// The longest time between two nominal times of the reader.
        read: Duration,
    },
    /// The reader has no longest distance: perhaps it never reads.
    #[error("nothing limits how seldom the reader reads")]
    Seldom,
    /// The search took more steps than it may.
    #[error("no bound was found within the limits of the search")]
    LimitReached,
    /// The wait is longer than [`LONGEST`].
    #[error("the wait is longer than can be counted: {LONGEST}")]
    TooLong,
}

/// Bounds a queue whose reader is activated by each message, and completes within `response` after
/// its arrival: messages that are not completed arrived within the last `response`.
pub fn triggered(messages: &EventStream, response: Duration) -> Queue {
    Queue { messages: messages.events_in_closed(response), wait: response }
}

/// Bounds a queue that a time-triggered reader empties in each of its jobs: all messages that
/// arrived before a job of the reader starts to read are taken by it.
///
/// # Errors
///
/// [`QueueError::Seldom`] and [`QueueError::TooLong`].
pub fn emptied(messages: &EventStream, reader: &Sampling) -> Result<Queue, QueueError> {
    let Reads { longest, late } = Reads::of(reader)?;
    let wait = counted(u128::from(longest) + u128::from(late))?;
    Ok(Queue { messages: messages.events_in_closed(wait), wait })
}

/// Bounds a queue from which each job of a time-triggered reader takes up to `taken` messages, the
/// oldest ones first. `passes`: steps of the search. If the reader needs the places of messages
/// until its job completes, the buffer needs `taken` places more.
///
/// Consider a time at which messages wait, and the last message before that found the queue empty.
/// In the time `t` since then the reader has taken `taken` messages in each of at least `ceil((t -
/// late) / L) - 1` jobs, where `late` is the longest time from a nominal time of the reader to the
/// completion of its job, because all jobs with a nominal time in the first `t - late`, its end not
/// counted, are complete. At most `eta+(t)` messages came. The backlog is largest when a message
/// comes: message `n` at `delta-(n)` at the earliest. It is taken by job `ceil(n / taken)` of those
/// jobs, which is complete at `ceil(n / taken) L + late` (Le Boudec and Thiran, "Network Calculus",
/// 2001: the vertical and the horizontal distance of arrival and service curve).
///
/// # Errors
///
/// See [`QueueError`].
pub fn polled(
    messages: &EventStream,
    reader: &Sampling,
    taken: u64,
    passes: u32,
) -> Result<Queue, QueueError> {
    let Reads { longest, late } = Reads::of(reader)?;
    let period = messages.period();
    let service = u128::from(taken) * u128::from(period.0);
    if service < u128::from(longest) {
        return Err(QueueError::Overload { period, taken, read: Duration(longest) });
    }
    let (mut backlog, mut wait) = (0, 0);
    // From `calm` on message `n` comes exactly one period after the one before. `taken` messages
    // later the reader has had at least one more job, so that neither backlog nor wait is larger
    // than `taken` messages before.
    let mut calm = 0;
    for number in (1..=u64::MAX).take(passes as usize) {
        let comes = messages.shortest(number);
        // Those that are complete before.
        let jobs = comes.0.saturating_sub(1).saturating_sub(late) / longest;
        let gone = u128::from(jobs) * u128::from(taken);
        backlog = backlog.max(u128::from(number).saturating_sub(gone));
        let complete = u128::from(number.div_ceil(taken)) * u128::from(longest) + u128::from(late);
        wait = wait.max(complete.saturating_sub(comes.0.into()));
        let steady = messages.shortest(number + 1).0.checked_sub(comes.0) == Some(period.0);
        calm = if steady && comes.0 > late { calm + 1 } else { 0 };
        if calm >= taken {
            let messages = backlog.try_into().map_err(|_| QueueError::TooLong)?;
            return Ok(Queue { messages, wait: counted(wait)? });
        }
    }
    Err(QueueError::LimitReached)
}

/// The times at which a reader reads.
struct Reads {
    /// The longest time between two nominal times: `L`.
    longest: u64,
    /// The longest time from a nominal time to the completion.
    late: u64,
}

impl Reads {
    fn of(reader: &Sampling) -> Result<Self, QueueError> {
        let longest = reader.releases.longest().ok_or(QueueError::Seldom)?.0;
        let late = reader.releases.jitter().0 + reader.delay.worst().0;
        Ok(Self { longest, late })
    }
}

fn counted(time: u128) -> Result<Duration, QueueError> {
    let time = u64::try_from(time).map(Duration).ok();
    time.filter(|time| *time <= LONGEST).ok_or(QueueError::TooLong)
}
