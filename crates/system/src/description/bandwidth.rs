//! Budgets of memory accesses, as they are described.

mod check;
mod read;

pub(super) use check::check;
pub(super) use read::{compensation, read};

use units::{Duration, Rate};

use super::Located;
use crate::plan::{BandwidthCounter, Compensation, MemoryBudget};
use crate::platform::{self, Platform};

/// A limit for memory accesses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Bandwidth {
    /// The amount.
    pub amount: Located<Amount>,
    /// The period; its place is that of the amount if it was not given.
    pub period: Located<Duration>,
}

/// Amounts of memory accesses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Amount {
    /// This number of accesses in each period.
    Accesses(u64),
    /// This number of bytes in a second.
    Rate(Rate),
    /// The planner chooses the amount.
    Planned,
}

impl Bandwidth {
    /// Returns true if it is to be planned.
    pub fn is_open(&self) -> bool {
        self.amount.value == Amount::Planned
    }

    /// Returns the budget on a machine where this is counted: a rate is rounded down to accesses.
    /// None if it has no meaning there, or is to be planned.
    pub fn budget(&self, counter: &platform::Bandwidth) -> Option<MemoryBudget> {
        let period = self.period.value;
        let accesses = match self.amount.value {
            Amount::Accesses(accesses) => accesses,
            Amount::Rate(rate) => rate.pieces(counter.access?, period),
            Amount::Planned => return None,
        };
        Some(MemoryBudget { accesses, period })
    }
}

/// Compensation of a VM for interference that critical VMs did not have.
pub type Credits = Located<Compensation>;

impl Platform {
    /// Returns the counter of memory accesses, as in a plan.
    pub(crate) fn bandwidth_counter(&self) -> Option<BandwidthCounter> {
        let bandwidth = self.bandwidth.clone()?;
        Some(BandwidthCounter {
            source: bandwidth.source,
            bits: bandwidth.bits,
            interrupts: bandwidth.interrupts,
            access: bandwidth.access,
        })
    }
}
