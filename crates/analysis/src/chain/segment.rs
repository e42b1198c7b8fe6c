//! The parts of a chain between two steps that have a stream of their own.

use crate::Duration;
use crate::chain::{ChainError, Delay, EventStream, Let, Source, Step};

/// A step with a stream of its own, or external events, and the steps that their outputs activate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Segment {
    /// Index of its first step.
    pub first: usize,
    /// The events that begin it.
    stream: EventStream,
    /// The events that activate each of its steps.
    pub activations: Vec<EventStream>,
    /// The stream of its results.
    pub outputs: EventStream,
    /// Sum of the shortest delays.
    pub best: u64,
    /// Sum of the longest delays: `W`.
    pub worst: u128,
    /// Longest delay of its last step.
    last: u128,
    /// The first step whose delay does not count from its event.
    pub from_nominal: Option<usize>,
    /// The part of `W` that the next segment does not wait for, because it starts after its writer.
    pub saved: u128,
}

impl Segment {
    fn new(first: usize, stream: EventStream) -> Self {
        let (activations, outputs) = (Vec::new(), stream);
        Self {
            first,
            stream,
            activations,
            outputs,
            best: 0,
            worst: 0,
            last: 0,
            from_nominal: None,
            saved: 0,
        }
    }

    /// Adds a step that the outputs so far activate.
    fn push(&mut self, step: usize, delay: &Delay) -> Result<(), ChainError> {
        self.activations.push(self.outputs);
        let outputs = self.outputs.after(delay);
        self.outputs = outputs.map_err(|error| ChainError::Stream { step, error })?;
        self.best = self.best.saturating_add(delay.best().0);
        self.last = delay.worst().0.into();
        self.worst += self.last;
        if !delay.is_from_event() {
            self.from_nominal = self.from_nominal.or(Some(step));
        }
        Ok(())
    }

    /// The latest time of a result after its nominal time: `J + W`.
    pub fn completes(&self) -> u128 {
        self.jitter() + self.worst
    }

    /// The jitter of the events that begin it: `J`.
    pub fn jitter(&self) -> u128 {
        self.stream.jitter().0.into()
    }

    /// The longest time between two nominal times: `L`.
    pub fn waits(&self) -> Result<u128, ChainError> {
        let longest = self.stream.longest().ok_or(ChainError::Seldom { step: self.first })?;
        Ok(longest.0.into())
    }
}

/// Divides a chain into segments, one at least.
pub(super) fn segments(source: Source, steps: &[Step]) -> Result<Vec<Segment>, ChainError> {
    let mut all: Vec<Segment> = match source {
        _ if steps.is_empty() => return Err(ChainError::Empty),
        Source::Events(stream) => vec![Segment::new(0, stream)],
        Source::State => Vec::new(),
    };
    for (index, step) in steps.iter().enumerate() {
        let (stream, delay, after_writer) = match step {
            Step::Triggered(delay) | Step::Channel(delay) => {
                all.last_mut().ok_or(ChainError::NothingActivates)?.push(index, delay)?;
                continue;
            }
            Step::Sampling(it) => (it.releases, it.delay, it.starts_after_writer),
            Step::Let(it) => {
                let (stream, delay) = logical(index, it)?;
                (stream, delay, false)
            }
        };
        // The writer is a task.
        if after_writer
            && let (Some(before), Some(Step::Triggered(_) | Step::Sampling(_))) =
                (all.last_mut(), index.checked_sub(1).and_then(|it| steps.get(it)))
        {
            before.saved = before.last;
        }
        let mut segment = Segment::new(index, stream);
        segment.push(index, &delay)?;
        all.push(segment);
    }
    Ok(all)
}

/// Returns the releases of a task with a logical execution time, and the time until its output,
/// which varies in neither.
fn logical(step: usize, it: &Let) -> Result<(EventStream, Delay), ChainError> {
    let Let { period, interval, completion } = *it;
    if completion > interval {
        return Err(ChainError::Late { step, interval, completion });
    }
    let stream =
        EventStream::periodic(period).map_err(|error| ChainError::Stream { step, error })?;
    let stream =
        stream.with_distance(period).map_err(|error| ChainError::Stream { step, error })?;
    let exact = Delay::new(interval, interval);
    let too_long = crate::chain::StreamError::TooLong(Duration(interval.0));
    Ok((stream, exact.ok_or(ChainError::Stream { step, error: too_long })?))
}
