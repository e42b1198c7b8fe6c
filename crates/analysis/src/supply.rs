//! Supply: how much processor time a VCPU is guaranteed, in any window of time in which it is
//! always ready.
//!
//! The bound for a server is that of the periodic resource model of Shin and Lee ("Periodic
//! Resource Model for Compositional Real-Time Guarantees", RTSS 2003): in the worst case the window
//! begins when a budget was used up as early as possible, and from then on each budget comes as
//! late as possible. The latest time is `W^v`, the response time of the server itself
//! ([`crate::vcpu`]):
//!
//! ```text
//!   |<- T - C ->|<- W - C ->|<--- C --->|<- T - C ->|<--- C --->| ...
//! ```
//!
//! With `W^v = T^v` this is the model of Shin and Lee, and its inverse is the last term of vCache,
//! Eq. 2. It holds for all three kinds of servers of `policy::server` if `W^v <= T^v`:
//! - a periodic server has its budget in each period, whether it is used or not;
//! - for a deferrable one, at most `s` was used in the first `s` of the period in which the window
//!   begins; the rest of the budget comes before that period ends, as far as it fits;
//! - for a sporadic one, all budget comes within one period from when the VCPU becomes ready, as
//!   far as it fits, also if replenishments were joined; then each used part comes one period
//!   after the time from which on it could be used.
//!
//! A polling server, which loses its budget when its VCPU waits, would supply less.
//!
//! # VCPUs that sleep
//!
//! While a task suspends itself its VCPU may wait, and that time counts as supply. Budgets at
//! multiples of the period also come then. A sporadic server gives less
//! ([`ServerSupply::with_sleep`]), for two reasons. The rest of its budget when its VCPU sleeps
//! counts from the time at which the VCPU wakes, so that it is replenished later by the time that
//! the VCPU had to wait for others before. And where more than
//! [`policy::server::REPLENISHMENTS_MAX`] parts of the budget would be kept apart, the last one is
//! joined with what was used since, and comes one period after that.
//!
//! In any window of `2 G + x` with `G = (T - C) + (W - C)` and `x` at most `C`, such a VCPU
//! executes or sleeps for `x`:
//!
//! - Of the parts that were used before the window only the last one can be joined with a part
//!   `e` that is used in the window, and only while each use is a piece of one part `H`, which has
//!   time left: otherwise there is a part behind it. Let `v` be the end of the last such use (0 if
//!   there is none).
//! - `H` can be used from `h` on, where `h` is at most `T - C`: all of the budget comes from then
//!   on, and within one period of the beginning of the window. From `h` to `v` the VCPU has budget,
//!   and others leave all but `W - C` of that time. So `v` is at most the sum of `T - C`, `W - C`,
//!   and the time for which the VCPU has executed (`e`) and slept until then.
//! - Let `y` be the last time at which the VCPU has no budget, and `E` what it used before that in
//!   the window. The rest of the budget, and `e`, come after `y` and before one period is over since
//!   `v`: `C - E + e <= v + T - y`.
//! - After `y` others leave all but `W - C` of the time. This time, `E`, and the time for which the
//!   VCPU slept before `v` are `x` or more together, by the two inequalities.
//!
//! For larger demands this is repeated: `C` in each `2 G + C`.

use crate::divisor::Divisor;
use crate::utilization::Share;
use crate::window::{self, Found, Gaps, Stream, TOO_LONG};
use crate::{Duration, Kind, LONGEST, Limits, Server};

/// Processor time that a VCPU gets.
#[derive(Clone, Copy, Debug)]
pub enum Supply<'a> {
    /// All time: the VCPU has a PCPU of its own.
    Whole,
    /// The supply of its server.
    Server(ServerSupply),
    /// The time that these servers leave, which are all above the VCPU on its PCPU: the VCPU is the
    /// first one of the background class.
    Leftover(&'a [Server]),
}

/// The supply of a server in the worst case.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ServerSupply {
    budget: Divisor,
    /// `T - C`.
    gap: u64,
    /// `W - C`, at most the gap.
    late: u64,
    /// True if a VCPU that sleeps gets less: on a sporadic server.
    less_asleep: bool,
}

impl ServerSupply {
    /// Makes the supply of a server about which only one thing is known: it gets its budget in each
    /// period. This is the periodic resource model.
    pub fn new(server: Server) -> Self {
        let gap = server.gap().0;
        let less_asleep = server.kind() == Kind::Sporadic;
        Self { budget: server.budget_divisor(), gap, late: gap, less_asleep }
    }

    /// Makes the supply of a server that gets its budget within `response` (`W^v`); `None` if that
    /// is longer than its period, because then there is no such bound.
    pub fn with_response(server: Server, response: Duration) -> Option<Self> {
        let late = response.0.saturating_sub(server.budget().0);
        (late <= server.gap().0).then(|| Self { late, ..Self::new(server) })
    }

    /// Returns the supply for tasks that may suspend themselves, where suspension counts as supply.
    /// Only a sporadic server gives less then. A repeated call changes nothing.
    pub fn with_sleep(self) -> Self {
        match self.less_asleep {
            true => Self { gap: 2 * (self.gap + self.late), late: 0, less_asleep: false, ..self },
            false => self,
        }
    }

    /// Returns the longest time without supply: `(T - C) + (W - C)`.
    pub fn blackout(&self) -> Duration {
        Duration(self.gap + self.late)
    }

    /// Supply bound function `sbf`: returns the time that the VCPU is guaranteed in a window.
    pub fn in_window(&self, window: Duration) -> Duration {
        let Some(rest) = window.0.checked_sub(self.blackout().0) else { return Duration(0) };
        let (budget, period) = (self.budget.get(), self.period());
        Duration(rest / period * budget + budget.min(rest % period))
    }

    /// Returns the inverse of `sbf`: the length of the shortest window in which the VCPU is
    /// guaranteed `demand`; `None` if that is longer than [`LONGEST`].
    pub fn window_of(&self, demand: Duration) -> Option<Duration> {
        counted(Gaps::window_of(self, demand.0.into()))
    }

    /// Linear supply bound function `lsbf`: returns the value of the largest line below `sbf`,
    /// rounded down: `(t - blackout) C / T` (Shin and Lee, Eq. 5).
    pub fn in_window_linear(&self, window: Duration) -> Duration {
        let rest = u128::from(window.0.saturating_sub(self.blackout().0));
        Duration((rest * u128::from(self.budget.get()) / u128::from(self.period())) as u64)
    }

    /// Returns the inverse of `lsbf`: the length of the shortest window with
    /// `lsbf(window) >= demand`; `None` if that is longer than [`LONGEST`].
    pub fn window_of_linear(&self, demand: Duration) -> Option<Duration> {
        if demand == Duration(0) {
            return Some(demand);
        }
        let time = u128::from(demand.0) * u128::from(self.period());
        let window = time.div_ceil(self.budget.get().into()) + u128::from(self.blackout().0);
        u64::try_from(window).ok().and_then(counted)
    }

    /// Returns the long-run share of the supply, rounded up.
    pub(crate) fn rate(&self) -> Share {
        Share::up(Duration(self.budget.get()), Duration(self.period()))
    }

    fn period(&self) -> u64 {
        self.budget.get() + self.gap
    }
}

impl Supply<'_> {
    /// Returns the supply for a task that suspends itself.
    pub fn with_sleep(self) -> Self {
        match self {
            Self::Server(server) => Self::Server(server.with_sleep()),
            Self::Whole | Self::Leftover(_) => self,
        }
    }

    /// Returns the time that the VCPU is guaranteed in a window.
    pub fn in_window(&self, window: Duration) -> Duration {
        match self {
            Self::Whole => window,
            Self::Server(server) => server.in_window(window),
            // The largest amount whose window is not longer than this one.
            Self::Leftover(_) => {
                let (mut least, mut most) = (0, window.0.min(LONGEST.0));
                while least < most {
                    let middle = least + (most - least).div_ceil(2);
                    match self.window_of(Duration(middle)) {
                        Some(needed) if needed <= window => least = middle,
                        _ => most = middle - 1,
                    }
                }
                Duration(least)
            }
        }
    }

    /// Returns the length of the shortest window in which the VCPU is guaranteed `demand`; `None`
    /// if that is longer than [`LONGEST`], or not found.
    pub fn window_of(&self, demand: Duration) -> Option<Duration> {
        match self {
            Self::Whole => counted(WholeGaps.window_of(demand.0.into())),
            Self::Server(server) => server.window_of(demand),
            Self::Leftover(_) if demand == Duration(0) => Some(demand),
            Self::Leftover(above) if all_is_taken(above) => None,
            Self::Leftover(above) => {
                let streams: Vec<_> = above.iter().map(Stream::of_server).collect();
                let (demand, mut passes) = (demand.0, Limits::default().passes);
                let limit = LONGEST.0;
                window::shortest((&streams, ()), demand, demand, WholeGaps, limit, &mut passes)
                    .ok()
                    .map(Found::duration)
            }
        }
    }
}

/// Returns true if these servers certainly leave no time.
fn all_is_taken(servers: &[Server]) -> bool {
    let parts = servers.iter().map(|server| Share::down(server.budget(), server.period()));
    parts.sum::<Share>() >= Share::WHOLE
}

/// All time is supply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeGaps;

impl Gaps for WholeGaps {
    #[inline]
    fn window(&self, demand: u64) -> u64 {
        demand
    }

    fn with_sleep(self) -> Self {
        self
    }
}

impl Gaps for ServerSupply {
    #[inline]
    fn window(&self, demand: u64) -> u64 {
        let lost = self.budget.ceil(demand).saturating_mul(self.gap).min(TOO_LONG);
        (demand + lost + self.late).min(TOO_LONG)
    }

    fn with_sleep(self) -> Self {
        ServerSupply::with_sleep(self)
    }
}

/// Returns the window, if it is at most [`LONGEST`].
fn counted(window: u64) -> Option<Duration> {
    Some(Duration(window)).filter(|window| *window <= LONGEST)
}
