//! The shortest window of time in which a supply meets a demand that grows with the window.
//!
//! Every analysis here asks for the least fixed point of
//!
//! ```text
//! window = inverse_supply(own demand + sum of ceil((window + J_h) / T_h) * C_h)
//! ```
//!
//! The usual way computes the sum anew for each step, with a division for each `h`. Here each `h`
//! is a *stream*, which knows the longest window that the jobs counted so far hold for, `next`;
//! a step adds a job to those streams that the window has outgrown. Windows of tasks further down
//! are longer, so that they go on where the last one ended. Divisions are left for streams whose
//! periods are much shorter than the window.

use crate::{Duration, LONGEST, Server};

/// Jobs that are released again and again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    /// Longest window for which `jobs` hold: `jobs * T - J`.
    next: u64,
    period: u64,
    /// Demand of a job.
    pub cost: u64,
    pub jobs: u64,
}

impl Stream {
    /// For the shortest of windows. All numbers are at most [`LONGEST`], the jitter twice that.
    #[inline]
    pub fn new(cost: u64, period: u64, jitter: u64) -> Self {
        let jobs = if jitter < period { 1 } else { jitter / period + 1 };
        Self { next: jobs * period - jitter, period, cost, jobs }
    }

    /// What a server takes from those below it.
    pub fn of_server(server: &Server) -> Self {
        Self::new(server.budget().0, server.period().0, server.jitter().0)
    }

    /// Demand in a window, whatever was counted so far.
    pub fn demand_in(&self, window: u64) -> u64 {
        let jitter = self.jobs * self.period - self.next;
        (window + jitter).div_ceil(self.period) * self.cost
    }

    /// Demand so far.
    #[inline]
    pub fn demand(&self) -> u64 {
        self.jobs.saturating_mul(self.cost)
    }
}

/// Demand of all streams so far.
pub(crate) fn released(streams: &[Stream]) -> u64 {
    streams.iter().fold(0, |sum, stream| sum.saturating_add(stream.demand()))
}

/// The inverse of a supply bound function, for demands that grow from call to call.
pub(crate) trait Gaps: Copy {
    /// The shortest window in which the demand, more than 0, is met; above [`LONGEST`] any
    /// number above it.
    fn window(&mut self, demand: u64) -> u64;

    fn window_of(mut self, demand: Duration) -> Option<Duration> {
        let window = if demand == Duration(0) { 0 } else { self.window(demand.0) };
        Some(Duration(window)).filter(|window| *window <= LONGEST)
    }
}

/// Why there is no window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stop {
    /// It is not shorter than this, which is above the limit.
    Beyond(u64),
    /// It was not found with so few passes.
    Passes,
}

/// Passes over the streams after which those that are far behind are helped by a division.
const PATIENCE: u32 = 8;

/// The shortest window, if it is not above `limit` (at most [`LONGEST`]). `demand`: that of the
/// streams so far, and more than that. Streams, demand and gaps are left as they are for that
/// window, or for one that is not longer.
#[inline]
pub(crate) fn shortest<G: Gaps>(
    streams: &mut [Stream],
    demand: &mut u64,
    gaps: &mut G,
    limit: u64,
    passes: &mut u32,
) -> Result<u64, Stop> {
    let mut patience = PATIENCE;
    let mut window = gaps.window(*demand);
    loop {
        if window > limit {
            return Err(Stop::Beyond(window));
        }
        let mut more = 0u64;
        for stream in streams.iter_mut() {
            // Without a branch, which would be hard to predict.
            let due = u64::from(window > stream.next);
            more = more.saturating_add(stream.cost & due.wrapping_neg());
            stream.next += stream.period & due.wrapping_neg();
            stream.jobs += due;
        }
        if more == 0 {
            return Ok(window);
        }
        *passes = passes.checked_sub(1).ok_or(Stop::Passes)?;
        patience -= 1;
        if patience == 0 {
            patience = PATIENCE;
            more = more.saturating_add(catch_up(streams, window));
        }
        *demand = demand.saturating_add(more);
        window = gaps.window(*demand);
    }
}

/// Counts all jobs in the window; returns the demand of those that were not counted before.
#[cold]
fn catch_up(streams: &mut [Stream], window: u64) -> u64 {
    let mut more = 0u64;
    for stream in streams {
        if window > stream.next {
            let jobs = (window - stream.next).div_ceil(stream.period);
            stream.jobs += jobs;
            stream.next += jobs * stream.period;
            more = more.saturating_add(jobs.saturating_mul(stream.cost));
        }
    }
    more
}
