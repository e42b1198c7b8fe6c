//! Parameters of a memory budget.

use core::{error, fmt};

use crate::time::{Duration, Instant};

/// A budget of memory accesses that is renewed in each period.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parameters {
    /// Accesses in each period: `Q` (XenThrottle, section 3.1), `B` (XvIso, section IV.A). Values
    /// are reduced to at most 2^62 - 1 for a VCPU, 2^63 - 1 for a VM.
    pub budget: u64,
    /// Length of a period: `P`.
    pub period: Duration,
    /// Start of the first period: no accesses before.
    pub start: Instant,
}

impl Parameters {
    pub(super) fn check(self) -> Result<Self, ParametersError> {
        match self {
            Self { budget: 0, .. } => Err(ParametersError::NoBudget),
            Self { period: Duration::ZERO, .. } => Err(ParametersError::NoPeriod),
            good => Ok(good),
        }
    }
}

/// The reason why there is no memory budget with these parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParametersError {
    /// The budget is zero.
    NoBudget,
    /// The period is zero.
    NoPeriod,
    /// Credit is to be reset after zero periods.
    NoResets,
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoBudget => "a budget of 0 memory accesses lets nothing run",
            Self::NoPeriod => "a memory budget needs a period longer than 0",
            Self::NoResets => "credit is reset after one period at least",
        })
    }
}

impl error::Error for ParametersError {}
