//! Budgets with which critical tasks are in time, exactly.
//!
//! - [`largest`]: by response times, for any number of tasks and of budgets;
//! - [`of_slack`] solves `S(D, Q) <= Res` (XenThrottle, Eq. 3.7), which the thesis solves by
//!   bisection; [`of_slack_in_practice`] returns whole accesses, for real regulators.

mod largest;

pub use largest::{Critical, Share, largest};

use crate::Duration;
use crate::memory::Bus;

/// A number of accesses that need not be whole: `numerator / denominator`, in lowest terms.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Accesses {
    /// The numerator.
    pub numerator: u128,
    /// The denominator; more than 0.
    pub denominator: u128,
}

impl Accesses {
    fn new(numerator: u128, denominator: u128) -> Self {
        let divisor = gcd(numerator, denominator).max(1);
        Self { numerator: numerator / divisor, denominator: (denominator / divisor).max(1) }
    }

    /// Returns the whole accesses, rounded down, which a regulator can count.
    pub fn whole(self) -> u64 {
        u64::try_from(self.numerator / self.denominator).unwrap_or(u64::MAX)
    }
}

/// Returns the largest budget `Q` with `S(D, Q) <= Res`, for budgets that hold exactly: `window` is
/// `D`, `slack` is `Res`. It is at most `P/L`, which lets through as much as no budget.
///
/// `S(D, Q)` has no jumps in `Q` and grows with it, in four straight parts: with `N = floor(D/P)`
/// and `r = D mod P`, for `x = QL`,
///
/// ```text
/// (N + 2) x            up to x = r/2
/// N x + r              up to r
/// (N + 1) x            up to (r + P)/2
/// (N - 1) x + r + P    up to P
/// ```
///
/// None where latency or period are 0.
pub fn of_slack(
    window: Duration,
    slack: Duration,
    period: Duration,
    latency: Duration,
) -> Option<Accesses> {
    let [window, slack, period, latency] =
        [window, slack, period, latency].map(|time| u128::from(time.0));
    if period == 0 || latency == 0 {
        return None;
    }
    let (n, rest) = (window / period, window % period);
    // `x` as a fraction; nothing overflows, because all factors are below 2^64 and `n` is below
    // `window`, and sums below 2^66.
    let (above, below) = if slack >= window {
        (period, 1)
    } else if 2 * slack <= (n + 2) * rest {
        (slack, n + 2)
    } else if slack <= (n + 1) * rest {
        (slack - rest, n)
    } else if 2 * slack <= (n + 1) * (rest + period) {
        (slack, n + 1)
    } else {
        (slack - rest - period, n - 1)
    };
    Some(Accesses::new(above, below * latency))
}

/// Returns the same in whole accesses, for budgets that hold as exactly as the bus states; `None`
/// if even a budget of 0 is too much.
pub fn of_slack_in_practice(
    window: Duration,
    slack: Duration,
    period: Duration,
    bus: &Bus,
) -> Option<u64> {
    let window = Duration(window.0.checked_add(bus.lateness.0)?);
    let overshoot = bus.overshoot.checked_mul(bus.latency.0)?;
    let slack = Duration(slack.0.checked_sub(overshoot)?);
    of_slack(window, slack, period, bus.latency).map(Accesses::whole)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
