//! Servers whose budget is renewed at the multiples of their period: periodic
//! and deferrable ones.

use super::Parameters;
use crate::time::{Duration, Instant};

/// The use of the budget while the VCPU waits.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum WhenIdle {
    /// The budget decreases as if it were used: the server is periodic.
    GoesBy,
    /// The budget is kept until the period ends: the server is deferrable.
    Kept,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Replenished {
    budget: i64,
    period: i64,
    when_idle: WhenIdle,
    /// Amount of a renewal: the budget, and in a section also the overrun.
    full: i64,
    /// Remaining part of that; negative: a debt that the next renewals pay.
    level: i64,
    renewal: Instant,
    /// Overrun of a period.
    limit: i64,
    /// Overrun of the current period that remained when the last section began; in this section it
    /// is a part of `level`. Negative: none remains, and this has been reported.
    left: i64,
}

impl Replenished {
    /// Times are reduced to the range of `i64`.
    pub fn new(parameters: Parameters, when_idle: WhenIdle) -> Self {
        let budget = signed(parameters.budget);
        Self {
            budget,
            period: signed(parameters.period),
            when_idle,
            full: budget,
            level: 0,
            renewal: parameters.start,
            limit: signed(parameters.overrun).min(i64::MAX - budget),
            left: 0,
        }
    }

    /// `since`: the budget was used from then on. The server was advanced to that instant before,
    /// so that no renewal lies before that instant.
    #[inline]
    pub fn advance(&mut self, now: Instant, since: Option<Instant>) {
        if now >= self.renewal {
            return self.cross_renewals(now, since);
        }
        if let Some(since) = since {
            self.charge(now - since);
        }
    }

    #[inline(never)]
    fn cross_renewals(&mut self, now: Instant, since: Option<Instant>) {
        // Whole periods after the first renewal that is due: none if the server is advanced in
        // time. A division replaces an unbounded loop.
        let (late, period) = ((now - self.renewal).0, self.period as u64);
        let whole = if late < period { 0 } else { late / period };
        let last = self.renewal + Duration(whole * period);
        let whole = signed(Duration(whole));
        match since {
            None => self.renew(whole.saturating_add(1)),
            Some(since) => {
                self.charge(self.renewal - since);
                self.renew(1);
                if whole > 0 {
                    // Each of them consumes its length and adds one renewal.
                    let excess = (self.period - self.full).saturating_mul(whole - 1);
                    self.level = self.level.saturating_sub(self.period).saturating_sub(excess);
                    self.renew(1);
                }
                self.charge(now - last);
            }
        }
        self.renewal = last + Duration(period);
    }

    fn renew(&mut self, times: i64) {
        let gain = self.full.saturating_mul(times);
        self.level = self.level.saturating_add(gain).min(self.full);
        self.left = self.limit;
    }

    /// The budget, some of which remained, decreased from `since` on, or from the renewal after
    /// that. If this is noticed late, no VCPU got the excess: there is no debt.
    pub fn idle(&mut self, now: Instant, since: Instant) {
        let renewed = self.renewal - Duration(self.period as u64);
        self.charge(now - since.max(renewed));
        self.level = self.level.max(0);
    }

    /// Takes the time for which the budget was used off the budget.
    #[inline]
    fn charge(&mut self, used: Duration) {
        self.level = self.level.saturating_sub(signed(used));
    }

    fn in_gcs(&self) -> bool {
        self.full > self.budget
    }

    /// The VCPU can execute in a global critical section.
    pub fn enter_gcs(&mut self) {
        if self.limit == 0 || self.in_gcs() {
            return;
        }
        self.full = self.budget + self.limit;
        if self.level <= 0 && self.when_idle == WhenIdle::GoesBy {
            self.left = -1;
        } else {
            self.level += self.left;
        }
    }

    /// The VCPU can no longer execute in a global critical section. Used time counts as budget
    /// first, and debt from before the section as overrun.
    pub fn leave_gcs(&mut self) {
        if !self.in_gcs() {
            return;
        }
        self.full = self.budget;
        let left = self.left.max(0);
        self.left = self.level.clamp(0, left);
        self.level -= self.left;
    }

    /// Budget and overrun are used up. Returns true if this has not been reported yet.
    pub fn stops_in_gcs(&mut self) -> bool {
        let news = self.in_gcs() && self.left >= 0;
        if news {
            self.left = -1;
        }
        news
    }

    #[inline]
    pub fn budget(&self) -> Option<Duration> {
        if self.level <= 0 {
            return None;
        }
        // A budget that fills the period never ends.
        Some(Duration(if self.budget == self.period { u64::MAX } else { self.level as u64 }))
    }

    #[inline]
    pub fn renewal(&self) -> Instant {
        self.renewal
    }

    #[inline]
    pub fn idles(&self) -> bool {
        self.when_idle == WhenIdle::GoesBy
    }
}

fn signed(duration: Duration) -> i64 {
    i64::try_from(duration.0).unwrap_or(i64::MAX)
}
