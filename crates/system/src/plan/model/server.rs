//! The server of a VCPU that shares a PCPU.

use abi::limits;
use abi::plan::words;

use policy::server::kind::{BACKGROUND, Kind};
use units::Duration;

/// The server of a VCPU that shares a PCPU.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Server {
    /// The class, with its budget.
    pub class: Class,
    /// A larger number is a higher priority. The VCPUs of a PCPU have different priorities, and
    /// those of the background have the lowest.
    pub priority: u32,
    /// Processor time beyond the budget in each period, in global critical sections only: the
    /// limit of `O` (vMPCP, section IV.A). Zero: none, as for all but periodic and deferrable
    /// servers. At most what the budget leaves of the period.
    pub overrun: Duration,
}

/// The way in which a VCPU gets processor time.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Class {
    /// A budget in each period.
    Reserved(Kind, Budget),
    /// No budget: the time that others leave.
    Background,
}

/// Processor time in each period: at least [`Budget::SHORTEST`], at most the period.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Budget {
    /// Processor time.
    pub budget: Duration,
    /// The period; at most [`Budget::LONGEST_PERIOD`].
    pub period: Duration,
}

impl Budget {
    /// Shortest budget that there can be.
    pub const SHORTEST: Duration = Duration(limits::BUDGET_MIN_NS);
    /// Longest period that there can be.
    pub const LONGEST_PERIOD: Duration = Duration(limits::PERIOD_MAX_NS);
    /// All of a PCPU, as a share.
    pub const WHOLE: u128 = 1_000_000_000_000_000_000;

    /// Its share of the PCPU, of [`Budget::WHOLE`]; rounded down, and all of it for a
    /// period of 0.
    pub fn share(self) -> u128 {
        let share = u128::from(self.budget.0) * Self::WHOLE;
        share.checked_div(u128::from(self.period.0)).unwrap_or(Self::WHOLE)
    }
}

impl Class {
    /// The words in description and plan.
    pub const WORDS: [&'static str; 4] = words::SERVERS;

    /// Returns the class of this name; `budget` is asked for if it has one.
    pub(crate) fn named(word: &str, budget: impl FnOnce() -> Option<Budget>) -> Option<Self> {
        match Kind::named(word) {
            Some(kind) => budget().map(|budget| Self::Reserved(kind, budget)),
            None => Some(Self::Background),
        }
    }

    /// Returns the word in description and plan.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reserved(kind, _) => kind.name(),
            Self::Background => BACKGROUND,
        }
    }

    /// Returns the budget, if it has one.
    pub fn budget(self) -> Option<Budget> {
        match self {
            Self::Reserved(_, budget) => Some(budget),
            Self::Background => None,
        }
    }

    /// The same class with this budget, if it has one.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        match self {
            Self::Reserved(kind, _) => Self::Reserved(kind, budget),
            Self::Background => Self::Background,
        }
    }
}
