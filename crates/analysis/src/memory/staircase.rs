//! The arrival curve of XenThrottle: the time for which a VCPU or VM with a budget can delay others.

use crate::Duration;
use crate::divisor::Divisor;
use crate::memory::Reservation;

/// `S(t, Q)` (XenThrottle, Eq. 3.5): the longest time of a window in which others wait for a source
/// of at most `Q` accesses in each period of length `P`, if each access delays others for at most
/// `L`.
///
/// ```text
/// S(t, Q) = t                                                     if t <= QL
///           QL + floor((t - QL)/P) QL + min(QL, (t - QL) mod P)   otherwise
/// ```
///
/// A window consists of the end of a period, whole periods, and the start of one. In each of these
/// parts the others wait for at most `QL`, and for no longer than the part lasts; the sum is
/// greatest if the first part lasts for `QL`. So a window can begin with `2 QL` without a pause,
/// and every further period adds `QL`. (Where `t < QL` the equation as printed gives less than
/// that; and the second condition of Eq. 3.6 is misprinted.)
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Staircase {
    // Private: not longer than the period.
    step: u64,
    period: Divisor,
}

impl Staircase {
    /// Makes the staircase of a reservation, with a latency `L`.
    pub fn new(reservation: &Reservation, latency: Duration) -> Self {
        let step = reservation.accesses().saturating_mul(latency.0);
        let period = reservation.divisor();
        // Others wait for at most the whole period.
        Self { step: step.min(period.get()), period }
    }

    /// `QL`: the time that each period adds; at most the period.
    pub fn step(&self) -> Duration {
        Duration(self.step)
    }

    /// Returns the time from step to step: `P`.
    pub fn period(&self) -> Duration {
        Duration(self.period.get())
    }

    /// `S(t)` of a window shorter than 2^62 ns.
    #[inline]
    pub fn at(&self, window: Duration) -> Duration {
        let Some(rest) = window.0.checked_sub(self.step) else { return window };
        let periods = self.period.quotient_of_half(rest << 1);
        let last = rest - periods * self.period.get();
        // Not longer than the window, so that nothing overflows.
        Duration(self.step + periods * self.step + self.step.min(last))
    }

    /// Returns the value of the least line above the staircase, rounded up:
    /// `(t + 2 (P - QL)) QL/P`. Yun, Yao, Pellizzoni, Caccamo and Sha (ECRTS 2012) analyse with
    /// such a line. At 0 it is above 0.
    pub fn at_linear(&self, window: Duration) -> Duration {
        let (step, period) = (u128::from(self.step), u128::from(self.period.get()));
        let time = (u128::from(window.0) + 2 * (period - step)) * step;
        Duration(time.div_ceil(period) as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn staircase(accesses: u64, period: u64, latency: u64) -> Staircase {
        let reservation = Reservation::new(accesses, Duration(period)).unwrap();
        Staircase::new(&reservation, Duration(latency))
    }

    /// Returns the longest time within a window in which others wait, by trying all starts of the
    /// window: in each period for at most `step`, and only within the window.
    fn tried(step: u64, period: u64, window: u64) -> u64 {
        let step = step.min(period);
        let from = |start: u64| {
            let end = start + window;
            let part = |number: u64| {
                let (from, to) = (number * period, (number + 1) * period);
                to.min(end).saturating_sub(from.max(start)).min(step)
            };
            (0..=end / period).map(part).sum()
        };
        (0..period).map(from).max().unwrap_or(0)
    }

    #[test]
    fn a_window_can_begin_with_two_budgets() {
        // Fig. 3.2: 3 accesses of 2 ns in each 20 ns.
        let curve = staircase(3, 20, 2);
        let times = [0, 5, 6, 11, 12, 13, 26, 27, 32, 33, 46].map(|t| curve.at(Duration(t)).0);
        assert_eq!(times, [0, 5, 6, 11, 12, 12, 12, 13, 18, 18, 18]);
        assert_eq!(curve.at_linear(Duration(12)).0, 12);
        assert_eq!(curve.at_linear(Duration(32)).0, 18);
        assert_eq!(curve.at_linear(Duration(0)).0, 9, "8.4, rounded up");
    }

    proptest! {
        #[test]
        fn no_window_has_more_and_some_window_has_as_much(
            accesses in 0u64..12, period in 1u64..40, latency in 0u64..6, window in 0u64..200,
        ) {
            let curve = staircase(accesses, period, latency);
            let found = curve.at(Duration(window));
            prop_assert_eq!(found.0, tried(accesses * latency, period, window));
            let line = curve.at_linear(Duration(window));
            prop_assert!(line >= found);
        }

        #[test]
        fn it_grows_with_window_and_budget(
            accesses in 0u64..12, period in 1u64..40, latency in 0u64..6, window in 0u64..200,
        ) {
            let at = |accesses, window| staircase(accesses, period, latency).at(Duration(window)).0;
            let found = at(accesses, window);
            // Without jumps, neither in the window nor in the budget.
            prop_assert!((found..=found + 1).contains(&at(accesses, window + 1)));
            let parts = window / period + 2;
            prop_assert!((found..=found + parts * latency).contains(&at(accesses + 1, window)));
        }
    }
}
