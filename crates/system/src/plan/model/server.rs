//! The server of a VCPU that shares a PCPU.

use bulkhead_abi::limits;
use bulkhead_abi::plan::words;

use crate::units::Duration;

/// The server of a VCPU that shares a PCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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

/// The ways in which a VCPU gets processor time: `policy::server` says what they are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Class {
    /// The budget goes by also while the VCPU has nothing to do.
    Periodic(Budget),
    /// Budget that is not used is kept until the end of the period.
    Deferrable(Budget),
    /// A server whose used budget is replenished one period later.
    Sporadic(Budget),
    /// No budget: what others leave.
    Background,
}

/// Processor time in each period: at least [`Budget::SHORTEST`], at most the period.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
        match Self::WORDS.iter().position(|known| *known == word) {
            Some(0) => budget().map(Self::Periodic),
            Some(1) => budget().map(Self::Deferrable),
            Some(2) => budget().map(Self::Sporadic),
            _ => Some(Self::Background),
        }
    }

    /// Returns the word in description and plan.
    pub fn as_str(self) -> &'static str {
        let [periodic, deferrable, sporadic, background] = Self::WORDS;
        match self {
            Self::Periodic(_) => periodic,
            Self::Deferrable(_) => deferrable,
            Self::Sporadic(_) => sporadic,
            Self::Background => background,
        }
    }

    /// Returns the budget, if it has one.
    pub fn budget(self) -> Option<Budget> {
        match self {
            Self::Periodic(budget) | Self::Deferrable(budget) | Self::Sporadic(budget) => {
                Some(budget)
            }
            Self::Background => None,
        }
    }
}
