//! Reservations: budgets of memory accesses of a VCPU or a VM.

use crate::divisor::Divisor;
use crate::memory::Bus;
use crate::{Duration, LONGEST};

/// A budget of memory accesses that is renewed in each period; the period is at least 1 ns and at
/// most [`LONGEST`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Reservation {
    accesses: u64,
    // Private: the curves divide by it.
    period: Divisor,
}

/// The reason why there is no such reservation.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ReservationError {
    /// A period of 0.
    #[error("the period of a memory budget is 0")]
    NoPeriod,
    /// The period is longer than [`LONGEST`].
    #[error("{0} is longer than analyses can count: at most {LONGEST}")]
    TooLong(Duration),
}

impl Reservation {
    /// Makes a reservation of `Q` accesses in each period of length `P`.
    ///
    /// # Errors
    ///
    /// See [`ReservationError`].
    pub fn new(accesses: u64, period: Duration) -> Result<Self, ReservationError> {
        match period {
            Duration(0) => Err(ReservationError::NoPeriod),
            period if period > LONGEST => Err(ReservationError::TooLong(period)),
            Duration(period) => Ok(Self { accesses, period: Divisor::new(period) }),
        }
    }

    /// Returns the same reservation with this budget.
    pub fn with_accesses(self, accesses: u64) -> Self {
        Self { accesses, ..self }
    }

    /// Returns the accesses in each period: `Q`.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Returns the period: `P`.
    pub fn period(&self) -> Duration {
        Duration(self.period.get())
    }

    /// Returns the maximum number of accesses in a window, including its ends, however fast they
    /// are: `(floor((t + d)/P) + 2) Q + o`. The window overlaps this number of periods, with the
    /// lateness `d` and the overshoot `o` of the bus (`policy::bandwidth` has the argument). This
    /// number can be observed. [`crate::memory::Curve`] bounds how long others wait because of
    /// these accesses.
    pub fn accesses_in(&self, window: Duration, bus: &Bus) -> u64 {
        let all = self.parts(window, bus).saturating_mul(self.accesses);
        all.saturating_add(bus.overshoot)
    }

    /// Returns the maximum number of accesses in a window with compensation
    /// ([`crate::memory::compensation`]), if no others make any: a reset window of `n` periods has
    /// budgets of `Q`, `2Q`, up to `nQ`.
    pub fn accesses_with_compensation_in(&self, window: Duration, bus: &Bus, n: u32) -> u64 {
        let (parts, n) = (u128::from(self.parts(window, bus)), u128::from(n.max(1)));
        // The last periods of a reset window, and whole reset windows.
        let (whole, last) = (parts / n, parts % n);
        let budgets = whole * (n * (n + 1) / 2) + last * (2 * n - last + 1) / 2;
        let all = budgets.saturating_mul(self.accesses.into()).saturating_add(bus.overshoot.into());
        u64::try_from(all).unwrap_or(u64::MAX)
    }

    /// Returns the maximum number of periods that overlap a window.
    fn parts(&self, window: Duration, bus: &Bus) -> u64 {
        window.0.saturating_add(bus.lateness.0) / self.period.get() + 2
    }

    /// Returns the period as a divisor.
    pub(crate) fn divisor(&self) -> Divisor {
        self.period
    }
}
