//! The server of a VCPU in analyses.

use policy::server::kind::Kind;

use crate::divisor::Divisor;
use crate::{Duration, LONGEST};

/// A server with valid parameters: the budget is at least 1 ns and at most the period, which is at
/// most [`LONGEST`]. Its priority is its place in a slice of servers: the first one has the highest
/// priority.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Server {
    // Private: the arithmetic of supplies relies on `budget <= period`.
    kind: Kind,
    budget: Divisor,
    period: Divisor,
}

/// The reason why there is no such server.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ServerError {
    /// A budget of 0.
    #[error("a budget of 0 lets nothing run")]
    NoBudget,
    /// The budget is longer than the period.
    #[error("a budget of {budget} does not fit into a period of {period}")]
    MoreThanPeriod {
        /// The budget.
        budget: Duration,
        /// The period.
        period: Duration,
    },
    /// The period is longer than [`LONGEST`].
    #[error("{0} is longer than analyses can count: at most {LONGEST}")]
    TooLong(Duration),
}

impl Server {
    /// A server with a budget `C^v` and a period `T^v`.
    ///
    /// # Errors
    ///
    /// See [`ServerError`].
    pub fn new(kind: Kind, budget: Duration, period: Duration) -> Result<Self, ServerError> {
        if budget == Duration(0) {
            return Err(ServerError::NoBudget);
        }
        if budget > period {
            return Err(ServerError::MoreThanPeriod { budget, period });
        }
        if period > LONGEST {
            return Err(ServerError::TooLong(period));
        }
        Ok(Self { kind, budget: Divisor::new(budget.0), period: Divisor::new(period.0) })
    }

    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the processor time in each period: `C^v`.
    pub fn budget(&self) -> Duration {
        Duration(self.budget.get())
    }

    /// Returns the period: `T^v`.
    pub fn period(&self) -> Duration {
        Duration(self.period.get())
    }

    /// Returns the time of a period in which the VCPU has no budget: `T^v - C^v`.
    pub fn gap(&self) -> Duration {
        Duration(self.period.get() - self.budget.get())
    }

    /// Returns the release jitter with which the server delays those below it (vCache, Eq. 1): a
    /// deferrable server can use its budget at the end of a period and again at the start of the
    /// next.
    pub fn jitter(&self) -> Duration {
        match self.kind {
            Kind::Deferrable => self.gap(),
            Kind::Periodic | Kind::Sporadic => Duration(0),
        }
    }

    /// Returns the budget as a divisor.
    pub(crate) fn budget_divisor(&self) -> Divisor {
        self.budget
    }

    /// Returns the period as a divisor.
    pub(crate) fn divisor(&self) -> Divisor {
        self.period
    }
}
