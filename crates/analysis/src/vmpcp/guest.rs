//! Untrusted guests: the limits of the hypervisor on their use of resources that VMs share.

use crate::Duration;
use crate::divisor::Divisor;
use crate::window::TOO_LONG;

/// The limits that the hypervisor enforces for a VCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Enforced {
    /// Its VM, by a number of its own.
    pub vm: usize,
    /// The longest time for which the VCPU may be in global sections until it executes outside. 0: it may be in none.
    pub hold: Duration,
    /// In each time `t` the VCPU enters at most `1 + floor((t + early) / interval)` of them.
    pub interval: Duration,
    /// See `interval`.
    pub early: Duration,
    /// The resources that the VCPU may request from the hypervisor.
    pub resources: Vec<usize>,
}

/// The limits of a VCPU that may be in sections.
#[derive(Clone, Debug)]
pub struct Guest {
    pub vm: usize,
    pub interval: Divisor,
    pub early: u64,
    pub resources: Vec<usize>,
}

impl Guest {
    /// Makes the limits, if the VCPU may be in sections.
    pub fn new(enforced: &Enforced) -> Self {
        let early = enforced.early.0.min(TOO_LONG);
        let interval = Divisor::new(enforced.interval.0.min(TOO_LONG));
        Self { vm: enforced.vm, interval, early, resources: enforced.resources.clone() }
    }

    /// Returns true if the limits never refuse tasks that enter `k` sections in each job, with
    /// these periods and response times: in a window of length `t` the tasks enter at most
    /// `sum of k (floor((t + R) / T) + 1)` sections, which is not above `t / interval + E` with
    /// `E = sum of k (1 + R / T)`; and the limits allow `1 + floor((t + early) / interval)`, which
    /// is no less if `interval (E - 1) <= early`.
    pub fn lets_in(&self, mut entries: impl Iterator<Item = (u64, u64, u64)>) -> bool {
        let interval = u128::from(self.interval.get());
        let all = entries.try_fold(0u128, |sum, (sections, period, response)| {
            let jobs = u128::from(sections) * (u128::from(period) + u128::from(response));
            sum.checked_add(jobs.checked_mul(interval)?.div_ceil(period.into()))
        });
        all.is_some_and(|all| all <= interval + u128::from(self.early))
    }
}
