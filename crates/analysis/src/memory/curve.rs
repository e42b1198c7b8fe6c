//! Bounds on the time for which a VCPU or VM with a budget delays others, if budgets do not hold exactly.

use crate::Duration;
use crate::memory::{Bus, Reservation, Staircase};

/// A bound for the time of a window in which others wait for a source with a budget:
/// `min(t, S(t + late) + credit)`.
///
/// - Accesses that count for a period can delay others for some time `d` after its end
///   ([`Bus::lateness`]). The parts of a window that belong to its periods are then `d` longer in
///   sum: `S(t + d)`. With `S(t)` alone (XenThrottle, Algorithm 1) the bound can be too low by that
///   much.
/// - Accesses beyond the budget ([`Bus::overshoot`]: `o`) are paid by the next budgets, so that any
///   number `m` of periods in a row have at most `mQ + o`: `S(t + d) + oL`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Curve {
    staircase: Staircase,
    late: u64,
    credit: u64,
}

impl Curve {
    /// Makes the curve of a source with a reservation.
    pub fn new(reservation: &Reservation, bus: &Bus) -> Self {
        Self {
            staircase: Staircase::new(reservation, bus.latency),
            late: cut(bus.lateness.0),
            credit: cut(bus.overshoot.saturating_mul(bus.latency.0)),
        }
    }

    /// Returns the same curve with windows that are longer by `late`, and `credit` accesses more.
    pub(super) fn more(self, late: Duration, credit: u64, bus: &Bus) -> Self {
        Self {
            late: cut(self.late.saturating_add(late.0)),
            credit: cut(self.credit.saturating_add(credit.saturating_mul(bus.latency.0))),
            ..self
        }
    }

    /// Returns the staircase of the curve.
    pub fn staircase(&self) -> &Staircase {
        &self.staircase
    }

    /// Returns the time after their periods in which accesses still delay others.
    pub fn late(&self) -> Duration {
        Duration(self.late)
    }

    /// Returns the time that accesses beyond the budget add once in any number of periods.
    pub fn credit(&self) -> Duration {
        Duration(self.credit)
    }

    /// Returns the bound for a window of at most [`crate::LONGEST`].
    #[inline]
    pub fn at(&self, window: Duration) -> Duration {
        let time = self.staircase.at(Duration(window.0 + self.late)).0 + self.credit;
        Duration(time.min(window.0))
    }
}

/// Longer than any window; sums of a few fit into 63 bits.
fn cut(time: u64) -> u64 {
    time.min(crate::LONGEST.0)
}
