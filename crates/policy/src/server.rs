//! Servers: how much processor time a VCPU gets, and when.
//!
//! A server has a budget `C` and a period `T` and is one of
//!
//! - *periodic* (idling): the budget is renewed at each multiple of the period
//!   and goes by whenever the server is the one to run, used or not;
//! - *deferrable* (Strosnider, Lehoczky and Sha, IEEE ToC 1995): renewed in the
//!   same way, but only execution uses it up: what is left lasts until the end
//!   of the period;
//! - *sporadic*: what is used comes back one period after the time from which it
//!   could be used; with the rules of Stanovich, Baker, Wang and Harbour
//!   ("Defects of the POSIX Sporadic Server and How to Correct Them", RTAS 2010),
//!   not those of the POSIX standard, under which a server can take more than a
//!   periodic task with the same numbers;
//! - *background*: no budget; it runs when no other server wants to.
//!
//! A server is told how time passes ([`Server::advance`]) and answers whether
//! it has budget. All instants are absolute: a renewal that is noticed late does
//! not make the next one late. What a VCPU got beyond its budget, because it was
//! stopped late, is a debt that the next renewal pays.

mod replenished;
mod sporadic;

use core::{error, fmt};

pub use sporadic::REPLENISHMENTS_MAX;

use crate::time::{Duration, Instant};
use replenished::{Replenished, WhenIdle};
use sporadic::Sporadic;

/// What a server promises its VCPU, and takes from others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parameters {
    /// Processor time in each period: `C` (vCache, section 3).
    pub budget: Duration,
    /// Length of a period: `T`.
    pub period: Duration,
    /// Start of the first period: no budget before.
    pub start: Instant,
}

impl Parameters {
    fn check(self) -> Result<Self, ParametersError> {
        match self {
            Self { budget: Duration::ZERO, .. } => Err(ParametersError::NoBudget),
            Self { budget, period, .. } if budget > period => {
                Err(ParametersError::MoreThanPeriod { budget, period })
            }
            good => Ok(good),
        }
    }
}

/// The ways in which a budget is used up and renewed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Policy {
    /// The budget goes by also while the VCPU has nothing to do.
    Periodic(Parameters),
    /// Budget that is not used is kept until the end of the period.
    Deferrable(Parameters),
    /// What is used comes back one period later.
    Sporadic(Parameters),
    /// No budget: what others leave.
    Background,
}

/// The state of a server.
#[derive(Clone, Debug)]
pub struct Server(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Replenished(Replenished),
    Sporadic(Sporadic),
    Background,
}

impl Server {
    /// A server whose VCPU has nothing to do yet.
    pub fn new(policy: Policy) -> Result<Self, ParametersError> {
        Ok(Self(match policy {
            Policy::Periodic(parameters) => {
                Kind::Replenished(Replenished::new(parameters.check()?, WhenIdle::GoesBy))
            }
            Policy::Deferrable(parameters) => {
                Kind::Replenished(Replenished::new(parameters.check()?, WhenIdle::Kept))
            }
            Policy::Sporadic(parameters) => Kind::Sporadic(Sporadic::new(parameters.check()?)),
            Policy::Background => Kind::Background,
        }))
    }

    /// Time has passed until `now`; the budget was used from `since` on, or not
    /// at all. Between two calls the use does not change. Constant time.
    #[inline]
    pub fn advance(&mut self, now: Instant, since: Option<Instant>) {
        match &mut self.0 {
            Kind::Replenished(server) => server.advance(now, since),
            Kind::Sporadic(server) => {
                if let Some(since) = since {
                    server.begin(since);
                    server.charge(now - since);
                }
            }
            Kind::Background => {}
        }
    }

    /// The VCPU has something to do again. Call [`Server::advance`] first.
    #[inline]
    pub fn wake(&mut self, now: Instant) {
        if let Kind::Sporadic(server) = &mut self.0 {
            server.activate(now);
        }
    }

    /// Whether the VCPU may run at `now`, to which the server was advanced.
    #[inline]
    pub fn has_budget(&self, now: Instant) -> bool {
        self.budget(now) > Duration::ZERO
    }

    /// How long the VCPU may run from `now` on if nothing is renewed meanwhile;
    /// the largest duration if there is no limit.
    #[inline]
    pub fn budget(&self, now: Instant) -> Duration {
        match &self.0 {
            Kind::Replenished(server) => server.budget(),
            Kind::Sporadic(server) => server.budget(now),
            Kind::Background => Duration(u64::MAX),
        }
    }

    /// When a server without budget gets some, if ever.
    #[inline]
    pub fn renewal(&self) -> Option<Instant> {
        match &self.0 {
            Kind::Replenished(server) => Some(server.renewal()),
            Kind::Sporadic(server) => Some(server.renewal()),
            Kind::Background => None,
        }
    }

    /// Whether the budget goes by while the VCPU has nothing to do: a periodic server.
    #[inline]
    pub fn idles(&self) -> bool {
        matches!(&self.0, Kind::Replenished(server) if server.idles())
    }

    /// Whether it is of the background class.
    #[inline]
    pub fn is_background(&self) -> bool {
        matches!(self.0, Kind::Background)
    }
}

/// Why there is no server with these parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParametersError {
    /// The budget is zero.
    NoBudget,
    /// The budget is longer than the period.
    MoreThanPeriod {
        /// The budget.
        budget: Duration,
        /// The period.
        period: Duration,
    },
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBudget => f.write_str("a budget of 0 lets nothing run"),
            Self::MoreThanPeriod { budget, period } => {
                write!(f, "a budget of {} does not fit into a period of {}", budget.0, period.0)
            }
        }
    }
}

impl error::Error for ParametersError {}
