//! The streams that activate the steps of a system, where steps activate others.
//!
//! The delays of steps depend on the jitter of those that share a processor with them, and the
//! jitter of a step on the delays of those before it (holistic analysis: Tindell and Clark,
//! "Holistic Schedulability Analysis for Distributed Hard Real-Time Systems", Microprocessing and
//! Microprogramming 1994; Henia, Hamann, Jersak, Racu, Richter and Ernst, "System Level Performance
//! Analysis - the SymTA/S Approach", 2005). [`propagate`] begins with delays that do not vary, and
//! repeats until no stream changes.
//!
//! Suppose that in a run some output comes earlier or later than the streams that were found allow,
//! and consider the first such instant. Before it all activations kept to their streams, so that
//! the delays that were found for these streams hold, and with them the output comes in time. This
//! needs only that the streams allow what the delays make of them, so that the result is sound also
//! if it is not the least one, or if the delays that a caller gives shrink when a jitter grows.

use crate::chain::{Delay, EventStream, StreamError};
use crate::{Duration, LONGEST};

/// The activation of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Activation {
    /// Events of its own: external ones, or a timer.
    Own(EventStream),
    /// Each output of the step with this index.
    Output(usize),
}

/// The streams that activate the steps, and the delays with these streams.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Propagated {
    /// The stream of each step.
    pub streams: Vec<EventStream>,
    /// The delay of each step.
    pub delays: Vec<Delay>,
    /// Number of times that the delays were computed.
    pub rounds: u32,
}

/// The reason why no streams were found.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PropagationError<E> {
    /// A step is activated by a step that does not exist.
    #[error("no step {0} activates anything")]
    NoSuchStep(usize),
    /// A step would have to complete before it is activated.
    #[error("step {0} is activated by its own outputs")]
    Cycle(usize),
    /// The number of delays is not that of the steps.
    #[error("{0} delays for another number of steps")]
    Delays(usize),
    /// The delays have no bounds with some jitter that steps certainly have.
    #[error("{0}")]
    NoBound(E),
    /// The jitter of a step grows beyond the limit: with the delays it causes, it has no end, or
    /// none that was looked for.
    #[error("the jitter of step {step} is {jitter} and grows")]
    Diverges {
        /// Index of the step.
        step: usize,
        /// Its jitter, which is above the limit, or grew in the last round.
        jitter: Duration,
    },
}

/// Finds the streams that activate all steps. `delays` returns the delay of each step if the steps
/// are activated by the streams that it is given. The search ends when a jitter is above `limit`,
/// or above [`LONGEST`], or after `rounds`.
///
/// # Errors
///
/// See [`PropagationError`].
pub fn propagate<E>(
    activations: &[Activation],
    limit: Duration,
    rounds: u32,
    mut delays: impl FnMut(&[EventStream]) -> Result<Vec<Delay>, E>,
) -> Result<Propagated, PropagationError<E>> {
    let limit = limit.min(LONGEST);
    let first = (0..activations.len()).map(|step| first(activations, step));
    let mut current = first.collect::<Result<Vec<_>, _>>()?;
    let mut grew = None;
    for round in 1..=rounds {
        let found = delays(&current).map_err(PropagationError::NoBound)?;
        if found.len() != activations.len() {
            return Err(PropagationError::Delays(found.len()));
        }
        grew = None;
        let mut next = current.clone();
        for (step, activation) in activations.iter().enumerate() {
            let Activation::Output(before) = *activation else { continue };
            let stream = current[before].after(&found[before]);
            let jitter = match stream {
                Ok(stream) => stream.jitter(),
                Err(StreamError::TooLong(jitter)) => jitter,
                Err(_) => LONGEST,
            };
            match stream {
                Ok(stream) if jitter <= limit => {
                    if !within(&stream, &current[step]) {
                        grew = grew.or(Some(step));
                        next[step] = union(&stream, &current[step]);
                    }
                }
                _ => return Err(PropagationError::Diverges { step, jitter }),
            }
        }
        if grew.is_none() {
            return Ok(Propagated { streams: current, delays: found, rounds: round });
        }
        current = next;
    }
    let step = grew.unwrap_or(0);
    let jitter = current.get(step).map_or(Duration(0), EventStream::jitter);
    Err(PropagationError::Diverges { step, jitter })
}

/// Returns the stream of a step with which the search begins: that of the first one of the steps
/// that activate it, as if no delay varied; and if that is not the step itself, at the largest
/// distance, since distances shrink as jitter grows.
fn first<E>(activations: &[Activation], step: usize) -> Result<EventStream, PropagationError<E>> {
    let mut at = step;
    for _ in activations {
        match activations.get(at) {
            Some(Activation::Own(stream)) if at == step => return Ok(*stream),
            Some(Activation::Own(stream)) => return Ok(stream.farthest()),
            Some(Activation::Output(before)) => at = *before,
            None => return Err(PropagationError::NoSuchStep(at)),
        }
    }
    match activations.get(at) {
        None => Err(PropagationError::NoSuchStep(at)),
        Some(_) => Err(PropagationError::Cycle(step)),
    }
}

/// Returns true if `wide` allows all that `narrow` does; both have the same period.
fn within(narrow: &EventStream, wide: &EventStream) -> bool {
    narrow.jitter() <= wide.jitter() && narrow.distance() >= wide.distance()
}

/// Returns a stream that allows all events that either of two with the same period allows.
fn union(one: &EventStream, other: &EventStream) -> EventStream {
    let jitter = if one.jitter() > other.jitter() { one } else { other };
    let distance = if one.distance() < other.distance() { one } else { other };
    one.with_those_of(jitter, distance)
}
