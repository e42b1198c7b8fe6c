//! The memory budget of a VCPU: the state machine of XvIso, Fig. 4.
//!
//! RECHARGE is not a separate state here: a ready VCPU is in RECHARGE while its account is empty.

use super::{Grant, Grants, Parameters, ParametersError};
use crate::time::{Duration, Instant};

/// The accesses that a VCPU may make.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Account {
    /// Remaining accesses; negative: a debt that the next ones pay.
    pub(crate) level: i64,
    /// Time at which the remaining accesses expire and the next ones come.
    pub(crate) until: Instant,
    source: Source,
}

/// The source of accesses.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Source {
    /// Accesses come from the VCPU's own budget.
    Own { budget: i64, period: Duration },
    /// Accesses come from the budget of its VM; `refused`: nothing was left when the VCPU asked.
    Shared { refused: bool },
}

impl Account {
    /// Returns the account of a VCPU with a budget of its own.
    pub fn own(parameters: Parameters) -> Result<Self, ParametersError> {
        let Parameters { budget, period, start } = parameters.check()?;
        let source = Source::Own { budget: signed(budget).min(BUDGET_MAX), period };
        Ok(Self { level: 0, until: start, source })
    }

    /// Returns the account of a VCPU that shares the budget of its VM with others.
    pub fn shared() -> Self {
        let source = Source::Shared { refused: false };
        Self { level: 0, until: Instant(0), source }
    }

    /// Returns the VCPU's own budget and its period, if it has one.
    #[inline(always)]
    pub(crate) fn own_budget(&self) -> Option<(i64, Duration)> {
        match self.source {
            Source::Own { budget, period } => Some((budget, period)),
            Source::Shared { .. } => None,
        }
    }

    /// Returns the number of accesses that the VCPU may make, as of the last decision.
    #[inline(always)]
    pub fn accesses(&self) -> u64 {
        self.level.max(0) as u64
    }

    /// The VCPU has made accesses.
    #[inline(always)]
    pub fn charge(&mut self, accesses: u64) {
        self.level = self.level.saturating_sub(signed(accesses));
    }

    /// Time has passed until `now`: accesses that were due until then are added.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: Instant) {
        if now >= self.until {
            self.renew(now);
        }
    }

    #[inline(never)]
    fn renew(&mut self, now: Instant) {
        match &mut self.source {
            Source::Own { budget, period } => {
                // One division in place of a loop without bound.
                let periods = ((now - self.until).0 / period.0).saturating_add(1);
                let gain = budget.saturating_mul(signed(periods));
                self.level = self.level.saturating_add(gain).min(*budget);
                self.until += Duration(period.0.saturating_mul(periods));
            }
            Source::Shared { refused } => {
                self.level = self.level.min(0);
                self.until = Instant(u64::MAX);
                *refused = false;
            }
        }
    }

    /// Returns the time until which the VCPU has to wait for accesses, if it has to. The account
    /// was advanced.
    #[inline(always)]
    pub(crate) fn recharge(&self) -> Option<Instant> {
        if self.level > 0 {
            return None;
        }
        match self.source {
            // The usual case: the debt is less than a budget.
            Source::Own { budget, .. } if self.level > -budget => Some(self.until),
            Source::Own { budget, period } => {
                let periods = self.level.unsigned_abs() / budget.unsigned_abs();
                Some(self.until + Duration(period.0.saturating_mul(periods)))
            }
            Source::Shared { refused } => refused.then_some(self.until),
        }
    }

    /// The VCPU is to run from `now` on: requests accesses if it has none. The account was
    /// advanced.
    #[inline(always)]
    pub(crate) fn fill(&mut self, vcpu: usize, now: Instant, grants: &mut dyn Grants) {
        let Source::Shared { refused } = &mut self.source else { return };
        if self.level > 0 || *refused {
            return;
        }
        let grant = grants.take(vcpu, self.level.unsigned_abs(), now);
        self.level = self.level.saturating_add(signed(grant.accesses));
        self.until = grant.until;
        *refused = self.level <= 0;
    }

    /// Takes the accesses that other VCPUs of the VM could use if this one no longer ran. The
    /// account was advanced.
    #[inline(always)]
    pub(crate) fn take_rest(&mut self) -> Option<Grant> {
        let rest = Grant { accesses: self.accesses(), until: self.until };
        if rest.accesses == 0 || matches!(self.source, Source::Own { .. }) {
            return None;
        }
        self.level = 0;
        Some(rest)
    }

    /// Returns the time at which the remaining accesses expire.
    #[inline(always)]
    pub(crate) fn until(&self) -> Instant {
        self.until
    }
}

/// Largest own budget: two of them can be added.
const BUDGET_MAX: i64 = i64::MAX / 2;

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
