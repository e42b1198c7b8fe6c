//! The kinds of servers with a budget, and the names of servers in texts.

use super::{Parameters, Policy};

/// The way in which a budget is used up and renewed: see [`super`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// The budget also decreases while the VCPU waits.
    Periodic,
    /// Unused budget is kept until the end of the period.
    Deferrable,
    /// A used part is replenished one period later.
    Sporadic,
}

/// The name of servers without a budget.
pub const BACKGROUND: &str = "background";

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Periodic, Self::Deferrable, Self::Sporadic];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Periodic => "periodic",
            Self::Deferrable => "deferrable",
            Self::Sporadic => "sporadic",
        }
    }

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the policy of a server of this kind.
    pub const fn policy(self, parameters: Parameters) -> Policy {
        match self {
            Self::Periodic => Policy::Periodic(parameters),
            Self::Deferrable => Policy::Deferrable(parameters),
            Self::Sporadic => Policy::Sporadic(parameters),
        }
    }

    /// Returns true if servers of this kind may overrun their budgets.
    pub const fn may_overrun(self) -> bool {
        matches!(self, Self::Periodic | Self::Deferrable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Server;
    use crate::time::{Duration, Instant};

    #[test]
    fn names_are_those_of_the_kinds() {
        assert!(Kind::ALL.into_iter().all(|kind| Kind::named(kind.name()) == Some(kind)));
        assert_eq!(Kind::named(BACKGROUND), None);
    }

    #[test]
    fn servers_overrun_if_their_kind_may() {
        for kind in Kind::ALL {
            let (budget, overrun) = (Duration(1), Duration(1));
            let parameters = Parameters { budget, period: Duration(3), start: Instant(0), overrun };
            assert_eq!(Server::new(kind.policy(parameters)).is_ok(), kind.may_overrun());
        }
    }
}
