//! Compensation: interference that a critical side could have had, but did not have, is given to
//! the other side (XenThrottle, section 3.4).
//!
//! With a budget of `Q` accesses for the other side, the critical side has at most `Q` delays in a
//! period. If it made `A` accesses it had at most `k A` delays, where the other side runs on `k`
//! CPUs: an access waits for one access of each of them. So the next period gets
//!
//! ```text
//! credit' = max(0, credit + Q - k A)
//! ```
//!
//! accesses besides `Q`. (The published rule is about one CPU. It adds `Q - A` if `A < Q` and does
//! not treat `A > Q`; credit would then be spent more than once if it is reset after more than two
//! periods.) The credit is reset after every `n` periods. In each group of `n` periods between two
//! resets
//!
//! - the critical side has at most `n Q` delays, as without compensation: with `s` delays in a
//!   period, at most `k A` and at most `credit + Q`, it is `credit' <= credit + Q - s`, and the
//!   credit at the end is not negative. The first `j` periods have at most `j Q`;
//! - the other side makes at most `j Q` accesses in the `j`th period, `n (n + 1)/2 Q` in all: 3 `Q`
//!   in 2 periods.
//!
//! A job of the critical side that begins within a group may find `(n - 1) Q` of credit. If its
//! start *flushes* the credit, it finds none: the other side then has at most `Q` for the rest of
//! the period, and `j Q` until the end of the `j`th period from that one on.
//!
//! If several CPUs are critical, `A` is the largest number of accesses of one of them: the credit
//! is the least that any of them allows. A CPU that does not report may have made any number of
//! accesses, so there is no credit.

use super::ParametersError;

/// The credit of a VM whose memory budget is compensated.
#[derive(Clone, Debug)]
pub struct Compensation {
    /// Periods between two resets: `n`.
    periods: u64,
    /// The critical sides, one bit each.
    sides: u64,
    /// Place of the current period between two resets.
    place: u64,
    /// Credit of the period before, and of the current one.
    before: u64,
    credit: u64,
    /// Sides that reported on the previous period, and the largest number of delays that one of
    /// them can have had.
    told: u64,
    most: u64,
    /// The credit was flushed in the current period.
    flushed: bool,
}

impl Compensation {
    /// Makes a credit that is reset every `periods` periods. Each bit of `sides` is a CPU with
    /// critical VCPUs that reports its accesses.
    pub fn new(periods: u32, sides: u64) -> Result<Self, ParametersError> {
        if periods == 0 {
            return Err(ParametersError::NoResets);
        }
        let periods = u64::from(periods);
        Ok(Self {
            periods,
            sides,
            place: periods - 1,
            before: 0,
            credit: 0,
            told: 0,
            most: 0,
            flushed: false,
        })
    }

    /// Advances by this number of periods, at least one.
    pub(super) fn advance(&mut self, periods: u64) {
        self.place = (self.place + periods % self.periods) % self.periods;
        // No side reported on a period that was missed.
        self.before = if periods == 1 { self.credit } else { 0 };
        (self.credit, self.told, self.most, self.flushed) = (0, 0, 0, false);
    }

    /// A side reports its maximum number of delays in the previous period. Returns the accesses
    /// that the current period gets.
    pub(super) fn report(&mut self, side: u32, delays: u64, budget: u64) -> u64 {
        let bit = 1u64.checked_shl(side).unwrap_or(0) & self.sides & !self.told;
        if bit == 0 {
            return 0;
        }
        self.told |= bit;
        self.most = self.most.max(delays);
        if self.told == self.sides && self.place > 0 && !self.flushed {
            self.credit = self.before.saturating_add(budget).saturating_sub(self.most);
        }
        self.credit
    }

    /// Removes the credit of the current period.
    pub(super) fn flush(&mut self) {
        (self.credit, self.flushed) = (0, true);
    }
}
