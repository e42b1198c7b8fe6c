//! Chains: how long data takes through several tasks and channels, of whatever VMs.
//!
//! A [`Chain`] begins with external events, or with a task that samples an external state. Each
//! [`Step`] is activated by the outputs of the step before, or by a stream of its own and then
//! reads the latest output of the step before. [`propagate`] finds the jitter of steps that others
//! activate, [`queue`] the sizes of buffers between steps, [`bucket`] the messages that a limited
//! sender can send, and [`channel`] the time that they take.
//!
//! # Segments
//!
//! A *segment* is a step with a stream of its own, and the steps after it that its outputs
//! activate. Let the stream have nominal times at most `L` apart and jitter `J`, and let `W` be the
//! sum of the longest delays of the segment's steps. The job for nominal time `n` reads at `n` or
//! later, and the segment writes its result at `n + J + W` or earlier, because each step adds at
//! most `worst` to the latest and `best` to the earliest time ([`EventStream::after`]). Results are
//! written in the order of `n`.
//!
//! # Bounded times
//!
//! - [`Chain::latency`]: from the nominal time of an event to the output for this event, if events
//!   activate all steps. `J + W`.
//! - [`Chain::reaction_time`]: from a change of the external state to the first output that was
//!   made from it or from a later one: the *maximum reaction time* of immediate forward job chains
//!   (Dürr, von der Brüggen, Chen and Chen, "End-to-End Timing Analysis of Sporadic Cause-Effect
//!   Chains in Distributed Systems", ACM TECS 2019). If events begin the chain, from the nominal
//!   time of an event instead.
//! - [`Chain::data_age`]: from the time at which the external state is sampled to the time at which
//!   the output that was made from it is replaced by the next one: the *maximum data age* of
//!   immediate backward job chains (Günzel, Chen, Ueter, von der Brüggen, Dürr and Chen, "Timing
//!   Analysis of Asynchronized Distributed Cause-Effect Chains", RTAS 2021). If events begin the
//!   chain, from the nominal time of the event.
//! - [`Chain::reduced_data_age`]: the same until the output appears: the *maximum reduced data age*
//!   of that paper.
//!
//! An event comes at its nominal time or later, so that bounds from nominal times hold from the
//! events as well.
//!
//! # Why it holds
//!
//! *Reaction.* Let a value be written at `w`, or let the state change at `w`, and let `m` be the
//! nominal time of the last job of the next segment that reads before `w`. The job after it reads
//! at `w` or later, so that it gets the value or a later one. Now `m <= w`, because no job reads
//! before its nominal time, and so the nominal time of that job is at most `w + L`, and it writes
//! at `w + L + J + W` or earlier. The sum over all segments is
//!
//! ```text
//! reaction <= sum of (L + J + W)
//! ```
//!
//! which is the bound of Davare, Zhu, Di Natale, Pinello, Kanajan and Sangiovanni-Vincentelli
//! ("Period Optimization for Hard Real-time Distributed Automotive Systems", DAC 2007), whose
//! response times include the jitter. A first segment that events begin adds only `J + W`.
//!
//! *Age.* A job that reads at `r` gets the result with nominal time `n` of the segment before. The
//! next result of that segment is not written yet, so that `r <= n + L + J + W`. The last output
//! appears at `n + J + W` at the latest, and its successor at `n + L + J + W`. The sum of these
//! over all segments bounds the data age. So maximum reaction time and data age have the same
//! bound; that they are the same is shown by Günzel, Ueter, Chen, von der Brüggen and Chen ("On the
//! Equivalence of Maximum Reaction Time and Maximum Data Age for Cause-Effect Chains", ECRTS 2023).
//! The reduced data age has no last `L`; and if the delays of the last segment count from events,
//! no last `J` either, because then the last output appears `W` after the release of the job that
//! reads at `r`.
//!
//! *Starts after its writer.* If a job of a sampling task starts only when no job of the step
//! before is pending ([`Sampling::starts_after_writer`]), the `W` of the segment before loses the
//! delay of its last step, both times. Let `a` be the activation of that last step for the value,
//! which is earlier than `n + J + W` by that delay: a sampling job that is released at `a` or later
//! starts after `w`. So the last job that reads before `w` is released before `a`, and `m <= a`.
//! For the age, the next result's last step cannot be pending at `r`, so it is activated at `r` or
//! later. (Dürr et al. use priorities in the same way.)
//!
//! # Assumptions
//!
//! - All streams and delays hold, in nanoseconds of the same clock. Nothing is known of the offsets
//!   of different streams; the bounds hold for all.
//! - A result is visible from its writing until the next result of the step replaces it. No read
//!   sees part of a result.
//! - All steps have been running long enough that each has a value to read.
//! - If a sampling step reads the output of a triggered one, it may miss outputs: a later one then
//!   stands for them. A reader that must not miss any has a queue ([`queue`]).
//!
//! Without more knowledge these bounds are exact but for the instant at which a read just misses a
//! write: such times exist for each chain of independent steps.
//!
//! ```
//! use analysis::Duration;
//! use analysis::chain::{Chain, Delay, EventStream, Sampling, Source, Step};
//!
//! let ms = |time: u64| Duration(time * 1_000_000);
//! let sampling = |period, worst| -> Result<Step, analysis::chain::StreamError> {
//!     let releases = EventStream::periodic(ms(period))?;
//!     let delay = Delay::new(ms(1), ms(worst)).unwrap();
//!     Ok(Step::Sampling(Sampling { releases, delay, starts_after_writer: false }))
//! };
//! let chain = Chain::new(Source::State, vec![
//!     sampling(10, 4)?,                                        // reads a sensor
//!     Step::Channel(Delay::new(ms(0), ms(1)).unwrap()),        // to another VM
//!     sampling(20, 7)?,                                        // drives a motor
//! ])?;
//! assert_eq!(chain.reaction_time()?, ms(10 + 4 + 1 + 20 + 7));
//! assert_eq!(chain.reduced_data_age()?, ms(10 + 4 + 1 + 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bucket;
pub mod channel;
mod delay;
mod propagate;
pub mod queue;
mod segment;
mod step;
mod stream;

pub use delay::Delay;
pub use propagate::{Activation, Propagated, PropagationError, propagate};
pub use step::{Let, Sampling, Step};
pub use stream::{EventStream, StreamError};

use crate::{Duration, LONGEST};
use segment::{Segment, segments};

/// The source of the data of a chain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// External events, each with data of its own.
    Events(EventStream),
    /// A state that changes at any time and that the first step samples.
    State,
}

/// A chain of steps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chain {
    source: Source,
    steps: Vec<Step>,
    segments: Vec<Segment>,
}

/// The reason why there is no such chain, or why it has no such bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ChainError {
    /// No step.
    #[error("a chain has one step at least")]
    Empty,
    /// The first step has nothing that activates it.
    #[error(
        "nothing activates the first step: it is no sampling step, and no events begin the chain"
    )]
    NothingActivates,
    /// A task with a logical execution time completes after its interval.
    #[error("step {step} has an interval of {interval} and can take {completion}")]
    Late {
        /// Index of the step.
        step: usize,
        /// Its interval.
        interval: Duration,
        /// Its longest time from release to completion.
        completion: Duration,
    },
    /// A step has a stream that is none.
    #[error("step {step}: {error}")]
    Stream {
        /// Index of the step.
        step: usize,
        /// The reason why there is no such stream.
        error: StreamError,
    },
    /// A step samples, so that not each event has an output of its own.
    #[error("step {step} samples: not each event has an output")]
    Samples {
        /// Index of the step.
        step: usize,
    },
    /// The delay of a step counts from nominal times, not from events.
    #[error("the delay of step {step} does not count from its event")]
    FromNominal {
        /// Index of the step.
        step: usize,
    },
    /// The stream of a step has no longest distance: perhaps no event comes.
    #[error("nothing limits how seldom step {step} is activated")]
    Seldom {
        /// Index of the step; the first one if external events come too seldom.
        step: usize,
    },
    /// The bound is longer than [`LONGEST`].
    #[error("the bound is longer than can be counted: {LONGEST}")]
    TooLong,
}

impl Chain {
    /// Makes a chain.
    ///
    /// # Errors
    ///
    /// See [`ChainError`].
    pub fn new(source: Source, steps: Vec<Step>) -> Result<Self, ChainError> {
        let segments = segments(source, &steps)?;
        Ok(Self { source, steps, segments })
    }

    /// Returns where the data comes from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Returns the steps in their order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the streams that activate the steps, in their order.
    pub fn activations(&self) -> impl Iterator<Item = EventStream> {
        self.segments.iter().flat_map(|segment| segment.activations.iter().copied())
    }

    /// Returns the stream of outputs of the last step.
    pub fn outputs(&self) -> EventStream {
        // `segments` makes one at least.
        self.segments[self.segments.len() - 1].outputs
    }

    /// Returns the shortest and the longest time from the nominal time of an event to the output
    /// for it, if events activate all steps.
    ///
    /// # Errors
    ///
    /// [`ChainError::Samples`] and [`ChainError::TooLong`].
    pub fn latency(&self) -> Result<(Duration, Duration), ChainError> {
        let segment = self.only_segment()?;
        Ok((Duration(segment.best), total([segment.completes()])?))
    }

    /// Returns the shortest and the longest time from an event itself to the output for it, if
    /// events activate all steps and each [`Delay`] counts from its event: the sum of the delays
    /// (Richter, 2005, Definition 7.3).
    ///
    /// # Errors
    ///
    /// [`ChainError::Samples`], [`ChainError::FromNominal`] and [`ChainError::TooLong`].
    pub fn latency_from_event(&self) -> Result<(Duration, Duration), ChainError> {
        let segment = self.only_segment()?;
        match segment.from_nominal {
            Some(step) => Err(ChainError::FromNominal { step }),
            None => Ok((Duration(segment.best), total([segment.worst])?)),
        }
    }

    /// Bounds the maximum reaction time: from a change of the state, or from the nominal time of an
    /// event, to the first output that was made from it or from a later one.
    ///
    /// # Errors
    ///
    /// [`ChainError::Seldom`] and [`ChainError::TooLong`].
    pub fn reaction_time(&self) -> Result<Duration, ChainError> {
        let waits = match self.source {
            Source::Events(_) => &self.segments[1..],
            Source::State => &self.segments,
        };
        let waits = waits.iter().map(Segment::waits).sum::<Result<u128, _>>()?;
        total([waits, self.unsaved()])
    }

    /// Bounds the same as [`Chain::reaction_time`], but from an event itself if events begin the
    /// chain and the delays of the steps that they activate count from their events. The jitter of
    /// the events does not count then.
    ///
    /// # Errors
    ///
    /// [`ChainError::FromNominal`], [`ChainError::Seldom`] and [`ChainError::TooLong`].
    pub fn reaction_time_from_event(&self) -> Result<Duration, ChainError> {
        let reaction = self.reaction_time()?;
        match (self.source, self.segments[0].from_nominal) {
            (Source::State, _) => Ok(reaction),
            (Source::Events(events), None) => Ok(Duration(reaction.0 - events.jitter().0)),
            (Source::Events(_), Some(step)) => Err(ChainError::FromNominal { step }),
        }
    }

    /// Bounds the maximum data age: from the time at which the state was sampled, or from the
    /// nominal time of an event, to the time at which the output that was made from it is replaced.
    ///
    /// # Errors
    ///
    /// [`ChainError::Seldom`] and [`ChainError::TooLong`].
    pub fn data_age(&self) -> Result<Duration, ChainError> {
        let waits = self.segments.iter().map(Segment::waits).sum::<Result<u128, _>>()?;
        total([waits, self.unsaved()])
    }

    /// Bounds the maximum reduced data age: from the time at which the state was sampled, or from
    /// the nominal time of an event, to the time at which the output that was made from it appears.
    ///
    /// # Errors
    ///
    /// [`ChainError::Seldom`] and [`ChainError::TooLong`].
    pub fn reduced_data_age(&self) -> Result<Duration, ChainError> {
        let (before, last) = self.segments.split_at(self.segments.len() - 1);
        let waits = before.iter().map(Segment::waits).sum::<Result<u128, _>>()?;
        let begins = matches!(self.source, Source::Events(_)) && before.is_empty();
        let late = last.iter().filter(|it| !begins && it.from_nominal.is_none());
        let late: u128 = late.map(Segment::jitter).sum();
        total([waits, self.unsaved() - late])
    }

    /// The sum of `J + W`, without the delays that are saved.
    fn unsaved(&self) -> u128 {
        self.segments.iter().map(|segment| segment.completes() - segment.saved).sum()
    }

    fn only_segment(&self) -> Result<&Segment, ChainError> {
        match (self.source, self.segments.as_slice()) {
            (Source::Events(_), [only]) => Ok(only),
            (Source::Events(_), [_, second, ..]) => Err(ChainError::Samples { step: second.first }),
            _ => Err(ChainError::Samples { step: 0 }),
        }
    }
}

/// Returns the sum, if it is at most [`LONGEST`].
fn total<const N: usize>(times: [u128; N]) -> Result<Duration, ChainError> {
    let sum = u64::try_from(times.iter().sum::<u128>()).map(Duration);
    sum.ok().filter(|sum| *sum <= LONGEST).ok_or(ChainError::TooLong)
}
