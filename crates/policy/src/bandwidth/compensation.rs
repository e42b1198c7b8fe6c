//! Compensation: interference that a critical side could have had, but had not, is given to the
//! other side (XenThrottle, section 3.4).
//!
//! With a budget of `Q` accesses for the other side, the critical side has `Q` delays in a period
//! at most. If it made `A` accesses it had `k A` delays at most, where the other side
//! runs on `k` CPUs: an access waits for one of each of them. So the next period gets
//!
//! ```text
//! credit' = max(0, credit + Q - k A)
//! ```
//!
//! accesses besides `Q`. (The published rule, which is about one CPU, adds `Q - A` where `A < Q` and
//! says nothing of `A > Q`; credit would then be spent more than once if it is reset after more than
//! two periods.) The credit is reset after every `n` periods. In each group of `n` periods
//! between two resets
//!
//! - the critical side has at most `n Q` delays, as without compensation: with `s` delays in a
//!   period, at most `k A` and at most `credit + Q`, it is `credit' <= credit + Q - s`, and
//!   what is left in the end is not negative. The first `j` periods have `j Q` at most;
//! - the other side makes at most `j Q` accesses in the `j`th period, `n (n + 1)/2 Q` in all:
//!   3 `Q` in 2 periods.
//!
//! A job of the critical side that begins within a group may find `(n - 1) Q` of credit. Where
//! this *flushes* the credit, it finds none: the other side has `Q` at most for the rest of the
//! period, and `j Q` until the end of the `j`th period from that one on.
//!
//! If several CPUs are critical, `A` is that of the one which made most accesses: the credit is
//! the least that any of them allows. Who does not tell may have made any number of
//! accesses: there is no credit.

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
    /// Sides that told of the period before, and most delays that one of them can have had.
    told: u64,
    most: u64,
    /// The credit was flushed in the current period.
    flushed: bool,
}

impl Compensation {
    /// Credit that is reset every so many periods. Each bit of `sides` is a CPU with critical
    /// VCPUs that tells of its accesses.
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

    /// So many periods later, at least one.
    pub(super) fn advance(&mut self, periods: u64) {
        self.place = (self.place + periods % self.periods) % self.periods;
        // Of a period that was missed nobody told.
        self.before = if periods == 1 { self.credit } else { 0 };
        (self.credit, self.told, self.most, self.flushed) = (0, 0, 0, false);
    }

    /// How many delays a side can have had in the period before. Returns what the current period
    /// gets.
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

    /// There is no credit any more in the current period.
    pub(super) fn flush(&mut self) {
        (self.credit, self.flushed) = (0, true);
    }
}
