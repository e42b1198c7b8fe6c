//! The memory budget of a VM: its VCPUs, on whatever CPUs, take grants of the budget (XenThrottle,
//! section 3.3).
//!
//! A VCPU takes a grant when it is to run, takes another one when it has used up the first, and
//! returns the rest when it no longer runs. A grant expires with its period. The grants of a
//! period, without returned accesses, never exceed its budget.
//!
//! A VCPU that runs without accessing memory keeps its grant until the period ends. To limit what
//! this takes from the others, the VCPUs of a VM on `k > 1` CPUs take a quarter of their share at a
//! time: when a VCPU finds nothing left, at most `(k - 1) max(1, floor(Q / 4k))` accesses lie
//! unused with others.
//!
//! With [`Compensation`], a period also has the credit of earlier periods, as soon as the critical
//! side has reported on the last one. A VCPU that found nothing left before waits for the next
//! period all the same.

use super::{Compensation, Grant, Grants, Parameters, ParametersError};
use crate::time::{Duration, Instant};

/// Number of grants in the share of a CPU, if the VM runs on several CPUs.
const GRANTS_OF_SHARE: u64 = 4;

/// The remaining memory budget of a VM.
#[derive(Clone, Debug)]
pub struct Pool {
    budget: u64,
    period: Duration,
    /// Accesses that a VCPU takes at a time.
    size: u64,
    /// CPUs on which the VM runs.
    cpus: u64,
    /// End of the current period.
    until: Instant,
    /// Remaining accesses of the period, and accesses that were taken and not returned.
    left: u64,
    granted: u64,
    compensation: Option<Compensation>,
}

impl Pool {
    /// Makes the budget of a VM whose VCPUs run on `cpus` CPUs.
    pub fn new(parameters: Parameters, cpus: u64) -> Result<Self, ParametersError> {
        let Parameters { budget, period, start } = parameters.check()?;
        let budget = budget.min(i64::MAX as u64);
        let size = match cpus {
            0 | 1 => budget,
            _ => (budget / cpus.saturating_mul(GRANTS_OF_SHARE)).max(1),
        };
        let (left, granted, compensation) = (0, 0, None);
        Ok(Self { budget, period, size, cpus, until: start, left, granted, compensation })
    }

    /// Adds compensation to the budget.
    #[must_use]
    pub fn with_compensation(self, compensation: Compensation) -> Self {
        Self { compensation: Some(compensation), ..self }
    }

    /// A VCPU with a debt of `debt` accesses requests more. `now` may lie before times that other
    /// CPUs have passed: the current period is that of the latest time.
    pub fn take(&mut self, debt: u64, now: Instant) -> Grant {
        self.renew(now);
        let accesses = self.left.min(debt.saturating_add(self.size));
        self.left -= accesses;
        self.granted = self.granted.saturating_add(accesses);
        Grant { accesses, until: self.until }
    }

    /// A VCPU no longer runs and returns the unused rest of its grant.
    pub fn give_back(&mut self, rest: Grant) {
        if rest.until == self.until {
            let accesses = rest.accesses.min(self.granted);
            self.granted -= accesses;
            self.left = self.left.saturating_add(accesses);
        }
    }

    /// The critical VCPUs of the CPU `side` have made `accesses` accesses in the period that ended
    /// at `end`. A report after the end of another period is too late and has no effect.
    pub fn report(&mut self, side: u32, accesses: u64, end: Instant) {
        self.renew(end);
        if end + self.period == self.until
            && let Some(compensation) = &mut self.compensation
        {
            // Each access can wait for one of each of these CPUs.
            let delays = accesses.saturating_mul(self.cpus);
            let credit = compensation.report(side, delays, self.budget);
            self.left = self.left.saturating_add(credit);
        }
    }

    /// The critical side has switched at `now`: credit that was saved before must not delay it.
    pub fn flush(&mut self, now: Instant) {
        self.renew(now);
        if let Some(compensation) = &mut self.compensation {
            compensation.flush();
            self.left = self.left.min(self.budget.saturating_sub(self.granted));
        }
    }

    /// Returns the end of the current period, as of the latest time.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Time has passed until `now`.
    #[inline(never)]
    fn renew(&mut self, now: Instant) {
        if now < self.until {
            return;
        }
        let periods = ((now - self.until).0 / self.period.0).saturating_add(1);
        self.until += Duration(self.period.0.saturating_mul(periods));
        (self.left, self.granted) = (self.budget, 0);
        if let Some(compensation) = &mut self.compensation {
            compensation.advance(periods);
        }
    }
}

impl Grants for Pool {
    /// All VCPUs of the CPU that share a budget are of one VM.
    fn take(&mut self, _: usize, debt: u64, now: Instant) -> Grant {
        Self::take(self, debt, now)
    }

    fn give_back(&mut self, _: usize, rest: Grant) {
        Self::give_back(self, rest);
    }
}
