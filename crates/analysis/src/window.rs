//! The shortest window of time in which a supply meets a demand that grows with the window.
//!
//! Every analysis here needs the least fixed point of
//!
//! ```text
//! window = inverse_supply(own + sum of ceil((window + J_h) / T_h) * C_h)
//! ```
//!
//! It is found by iteration from below (Joseph and Pandya, Computer Journal 1986). Windows of tasks
//! of lower priority are longer, so that each search begins at the result of the previous one.
//! Periods are [`Divisor`]s, so that a step takes two multiplications for each `h`.

use crate::divisor::Divisor;
use crate::utilization::Share;
use crate::{Duration, LONGEST, Server};

/// A stream of recurring jobs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Stream {
    period: Divisor,
    /// `2 (J - 1)`, modulo 2^64.
    offset: u64,
    /// Demand of a job: `C`.
    pub cost: u64,
}

impl Stream {
    /// Makes a stream. The jitter is at most three times [`LONGEST`].
    #[inline]
    pub fn new(cost: u64, period: Divisor, jitter: u64) -> Self {
        Self { period, offset: (jitter << 1).wrapping_sub(2), cost }
    }

    /// Makes the stream of the time that a server takes from those below it.
    #[inline]
    pub fn of_server(server: &Server) -> Self {
        Self::new(server.budget().0, server.divisor(), server.jitter().0)
    }

    /// Returns the maximum number of jobs in a window that is more than 0 and at most [`LONGEST`].
    #[inline]
    pub fn jobs(&self, window: u64) -> u64 {
        self.period.quotient_of_half((window << 1).wrapping_add(self.offset)) + 1
    }

    /// Returns the long-run share of the stream, rounded down.
    pub fn share(&self) -> Share {
        Share::down(Duration(self.cost), Duration(self.period.get()))
    }

    /// Returns the demand in a window by division, for comparison.
    pub fn demand_by_division(&self, window: u64) -> u128 {
        let jitter = self.offset.wrapping_add(2) >> 1;
        u128::from((window + jitter).div_ceil(self.period.get())) * u128::from(self.cost)
    }
}

/// Returns true if the streams certainly need all time, or more, in the long run.
pub(crate) fn leave_nothing(streams: &[Stream]) -> bool {
    streams.iter().map(Stream::share).sum::<Share>() >= Share::WHOLE
}

/// Returns the demand of all streams in a window that is more than 0 and at most [`LONGEST`].
#[inline]
pub(crate) fn demand(streams: &[Stream], window: u64) -> u128 {
    // 128 bits: no slice is long enough to overflow them.
    let each = |stream: &Stream| u128::from(stream.jobs(window)) * u128::from(stream.cost);
    streams.iter().map(each).sum()
}

/// The inverse of a supply bound function.
pub(crate) trait Gaps: Copy {
    /// Returns the length of the shortest window in which the demand, from 1 to [`LONGEST`], is
    /// met.
    fn window(&self, demand: u64) -> u64;

    /// Returns the inverse for a VCPU whose tasks suspend themselves.
    fn with_sleep(self) -> Self;

    /// Returns the same for any demand; a result above [`LONGEST`] is one number above it.
    #[inline]
    fn window_of(&self, demand: u128) -> u64 {
        match u64::try_from(demand) {
            Ok(0) => 0,
            Ok(demand) if demand <= LONGEST.0 => self.window(demand),
            _ => TOO_LONG,
        }
    }
}

/// Additional demand, which does not shrink as the window grows.
pub(crate) trait Beside: Copy {
    /// Returns the additional demand in a window that is more than 0 and at most [`LONGEST`].
    fn demand(&self, streams: &[Stream], window: u64) -> u128;
}

/// No additional demand.
impl Beside for () {
    #[inline]
    fn demand(&self, _: &[Stream], _: u64) -> u128 {
        0
    }
}

/// Stands for times above [`LONGEST`], in nanoseconds.
pub const TOO_LONG: u64 = LONGEST.0 + 1;

/// Returns the sum of times, each at most [`TOO_LONG`], limited to [`TOO_LONG`].
pub(crate) fn sum(times: impl Iterator<Item = u64>) -> u64 {
    times.fold(0, |sum, time| (sum + time).min(TOO_LONG))
}

/// The window that a search found, and the demand that is met in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Found {
    pub window: u64,
    pub demand: u64,
}

/// The reason why a search found no window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stop {
    /// The window is not shorter than this, which is above the limit.
    Beyond(u64),
    /// The search reached the limit on its steps.
    Passes,
}

/// Returns the shortest window in which `own`, the streams and the additional demand are met, if it
/// is not above `limit`, which is at most [`LONGEST`]. `known`: a demand of more than 0 that is
/// certainly not above that in the window.
#[inline]
pub(crate) fn shortest<G: Gaps>(
    (streams, beside): (&[Stream], impl Beside),
    own: u64,
    known: u64,
    gaps: G,
    limit: u64,
    passes: &mut u32,
) -> Result<Found, Stop> {
    let mut window = gaps.window_of(known.into());
    loop {
        if window > limit {
            return Err(Stop::Beyond(window));
        }
        let demand = demand(streams, window) + u128::from(own);
        let demand = demand.saturating_add(beside.demand(streams, window));
        let next = gaps.window_of(demand);
        if next <= window {
            return Ok(Found { window, demand: demand as u64 });
        }
        window = next;
        *passes = passes.checked_sub(1).ok_or(Stop::Passes)?;
    }
}

impl Found {
    /// Returns the window as a length of time.
    pub fn duration(self) -> Duration {
        Duration(self.window)
    }
}
