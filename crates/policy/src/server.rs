//! Servers: how much processor time a VCPU gets, and when.
//!
//! A server has a budget `C` and a period `T` and is one of
//!
//! - *periodic* (idling): the budget is renewed at each multiple of the period and decreases
//!   whenever the server is the one to run, used or not;
//! - *deferrable* (Strosnider, Lehoczky and Sha, IEEE ToC 1995): renewed in the same way, but only
//!   execution uses the budget up: the rest is kept until the end of the period;
//! - *sporadic*: a used part is replenished one period after the time from which on it could be
//!   used; with the rules of Stanovich, Baker, Wang and Harbour ("Defects of the POSIX Sporadic
//!   Server and How to Correct Them", RTAS 2010), not those of the POSIX standard, under which a
//!   server can take more than a periodic task with the same numbers;
//! - *background*: no budget; it runs when no other server is ready.
//!
//! The caller reports the time that has passed ([`Server::charge`], [`Server::supply`]), and the
//! server returns its budget. All instants are absolute: a renewal that is noticed late does not
//! delay the next one. Time that a VCPU got beyond its budget, because it was stopped late, is a
//! debt that the next renewal pays. Unused budget that decreased for too long leaves no debt.
//!
//! # Overrun
//!
//! A periodic or deferrable server may let its VCPU continue without budget while one of its tasks
//! is in a global critical section (vMPCP, section III.B), up to a limit `O` in each period, which
//! does not carry over to the next period.
//!
//! - *Deferrable*: whenever a section is open and the budget is used up, also if the section begins
//!   after that.
//! - *Periodic*: only in a section that was open, with the VCPU ready, when the budget was used up.
//!   A server that has stopped stays stopped until its period ends: otherwise it could execute at
//!   the end of a period and again at the start of the next.
//!
//! Overrun is not paid back: a period begins with the whole budget `C`, whatever the previous one
//! used. The analysis of vMPCP needs this: its Eq. 6 relies on `C` in each period, which a job that
//! is released after an overrun would not get otherwise; and Eq. 5 charges `C + O` to each period.
//! If no task exceeds the lengths of its sections, a limit of `ght` (vMPCP, Eq. 1: the sum, over
//! its tasks, of the longest global critical section) is never exceeded.
//!
//! Other VCPUs see a server of `C + O`. It executes within its periods for at most that, so in a
//! window of length `t`, which has the end of a period, some whole ones, and the start of one
//!
//! ```text
//! t                                            if t <= C + O
//! C + O + floor(r/T) (C + O) + min(C + O, r mod T)   otherwise, r = t - (C + O)
//! ```
//!
//! which `ceil((t + J)/T) (C + O)` bounds for `J = T - (C + O)`. vMPCP's Eq. 5 has this with
//! `J = T - C`, which is no less. A periodic server without delay executes at the start of its
//! periods only, also with overrun, and has `J = 0`.
//!
//! A sporadic server has no overrun: vMPCP does not define it, and replenishments belong to used
//! parts and not to periods, so that the limit has no period to refer to.

pub mod kind;
mod replenished;
mod sporadic;

use core::{error, fmt};

pub use sporadic::REPLENISHMENTS_MAX;

use crate::time::{Duration, Instant};
use replenished::{Replenished, WhenIdle};
use sporadic::Sporadic;

/// The parameters of a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parameters {
    /// Processor time in each period: `C` (vCache, section 3).
    pub budget: Duration,
    /// Length of a period: `T`.
    pub period: Duration,
    /// Start of the first period: no budget before.
    pub start: Instant,
    /// Processor time beyond the budget in each period, in global critical sections only: the
    /// limit of `O` (vMPCP, section IV.A). Zero: no overrun.
    pub overrun: Duration,
}

impl Parameters {
    fn check(self) -> Result<Self, ParametersError> {
        match self {
            Self { budget: Duration::ZERO, .. } => Err(ParametersError::NoBudget),
            Self { budget, period, .. } if budget > period => {
                Err(ParametersError::MoreThanPeriod { budget, period })
            }
            Self { budget, period, overrun, .. } if overrun > period - budget => {
                Err(ParametersError::OverrunMoreThanPeriod { overrun, rest: period - budget })
            }
            good => Ok(good),
        }
    }

    fn check_sporadic(self) -> Result<Self, ParametersError> {
        match self.overrun {
            Duration::ZERO => self.check(),
            _ => Err(ParametersError::SporadicOverrun),
        }
    }
}

/// The ways in which a budget is used up and renewed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Policy {
    /// The budget also decreases while the VCPU waits.
    Periodic(Parameters),
    /// Unused budget is kept until the end of the period.
    Deferrable(Parameters),
    /// A used part is replenished one period later.
    Sporadic(Parameters),
    /// No budget: the server gets the time that others leave.
    Background,
}

impl Policy {
    /// Returns the same policy with periods that are counted from `start`.
    pub const fn starting(self, start: Instant) -> Self {
        match self.reserved() {
            Some((kind, parameters)) => kind.policy(Parameters { start, ..parameters }),
            None => Self::Background,
        }
    }

    /// Returns the kind and the parameters of a server with a budget.
    pub const fn reserved(self) -> Option<(kind::Kind, Parameters)> {
        match self {
            Self::Periodic(parameters) => Some((kind::Kind::Periodic, parameters)),
            Self::Deferrable(parameters) => Some((kind::Kind::Deferrable, parameters)),
            Self::Sporadic(parameters) => Some((kind::Kind::Sporadic, parameters)),
            Self::Background => None,
        }
    }
}

/// The state of a server.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Server(Kind);

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "without allocation; servers live in arrays that are built once"
)]
enum Kind {
    Replenished(Replenished),
    Sporadic(Sporadic),
    Background,
}

impl Server {
    /// Makes a server whose VCPU waits.
    pub fn new(policy: Policy) -> Result<Self, ParametersError> {
        Ok(Self(match policy {
            Policy::Periodic(parameters) => {
                Kind::Replenished(Replenished::new(parameters.check()?, WhenIdle::GoesBy))
            }
            Policy::Deferrable(parameters) => {
                Kind::Replenished(Replenished::new(parameters.check()?, WhenIdle::Kept))
            }
            Policy::Sporadic(parameters) => {
                Kind::Sporadic(Sporadic::new(parameters.check_sporadic()?))
            }
            Policy::Background => Kind::Background,
        }))
    }

    /// The budget was used from `since`, to which the server was advanced by [`Server::supply`],
    /// until `now`. Constant time.
    // In place wherever a CPU decides: it runs whenever VCPUs take turns.
    #[inline(always)]
    pub fn charge(&mut self, now: Instant, since: Instant) {
        match &mut self.0 {
            Kind::Replenished(server) => server.advance(now, Some(since)),
            Kind::Sporadic(server) => {
                server.begin(since);
                server.charge(now - since);
            }
            Kind::Background => {}
        }
    }

    /// Existing budget decreased from `since` to `now`, because the VCPU waited.
    #[cold]
    pub fn idle(&mut self, now: Instant, since: Instant) {
        if let Kind::Replenished(server) = &mut self.0 {
            server.advance(now, None);
            server.idle(now, since);
        }
    }

    /// The VCPU is ready again. Call [`Server::charge`] first if its budget was used.
    #[inline]
    pub fn wake(&mut self, now: Instant) {
        if let Kind::Sporadic(server) = &mut self.0 {
            server.activate(now);
        }
    }

    /// The VCPU is ready and has a task in a global critical section: it may overrun. A repeated
    /// call changes nothing. Call [`Server::supply`] first.
    #[inline(always)]
    pub fn enter_gcs(&mut self) {
        if let Kind::Replenished(server) = &mut self.0 {
            server.enter_gcs();
        }
    }

    /// The VCPU waits, or has no task in a global critical section.
    #[inline(always)]
    pub fn leave_gcs(&mut self) {
        if let Kind::Replenished(server) = &mut self.0 {
            server.leave_gcs();
        }
    }

    /// The VCPU would run, but has no budget. Returns true, once, if the VCPU could overrun until
    /// now and has to wait in its global critical section for the next renewal.
    pub fn stops_in_gcs(&mut self) -> bool {
        match &mut self.0 {
            Kind::Replenished(server) => server.stops_in_gcs(),
            Kind::Sporadic(_) | Kind::Background => false,
        }
    }

    /// Time has passed until `now`, and the budget was not used or was charged. Returns how long
    /// the VCPU may run from `now` on if nothing is renewed meanwhile, overrun included (the
    /// largest duration if there is no limit), or, without budget, the time at which it gets
    /// budget. Constant time.
    #[inline]
    pub fn supply(&mut self, now: Instant) -> Result<Duration, Instant> {
        match &mut self.0 {
            Kind::Replenished(server) => {
                server.advance(now, None);
                server.budget().ok_or(server.renewal())
            }
            Kind::Sporadic(server) => server.budget(now).ok_or(server.renewal()),
            Kind::Background => Ok(Duration(u64::MAX)),
        }
    }

    /// Returns how long the VCPU may run from `now` on, to which the server was advanced by
    /// [`Server::supply`]; zero: not at all.
    pub fn budget(&self, now: Instant) -> Duration {
        let budget = match &self.0 {
            Kind::Replenished(server) => server.budget(),
            Kind::Sporadic(server) => server.budget(now),
            Kind::Background => Some(Duration(u64::MAX)),
        };
        budget.unwrap_or_default()
    }

    /// Returns true if the budget decreases while the VCPU waits: a periodic server.
    #[inline]
    pub fn idles(&self) -> bool {
        matches!(&self.0, Kind::Replenished(server) if server.idles())
    }

    /// Returns true if it is of the background class.
    #[inline]
    pub fn is_background(&self) -> bool {
        matches!(self.0, Kind::Background)
    }
}

/// The reason why there is no server with these parameters.
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
    /// The overrun is longer than the period less the budget.
    OverrunMoreThanPeriod {
        /// The overrun.
        overrun: Duration,
        /// Period without budget.
        rest: Duration,
    },
    /// A sporadic server has no overrun.
    SporadicOverrun,
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBudget => f.write_str("a budget of 0 lets nothing run"),
            Self::MoreThanPeriod { budget, period } => {
                write!(f, "a budget of {} does not fit into a period of {}", budget.0, period.0)
            }
            Self::OverrunMoreThanPeriod { overrun, rest } => write!(
                f,
                "an overrun of {} does not fit beside the budget: the period has {} left",
                overrun.0, rest.0
            ),
            Self::SporadicOverrun => f.write_str(
                "a sporadic server has no overrun: only periodic and deferrable ones have",
            ),
        }
    }
}

impl error::Error for ParametersError {}
