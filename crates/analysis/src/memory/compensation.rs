//! The cost of compensation (XenThrottle, section 3.4) for the critical side, whose unused
//! interference is given to others.
//!
//! With compensation a VM with a budget `Q` gets in period `j` a budget `b_j`: `Q`, and the
//! interference that it could have caused but did not. If `A_j` is the number of accesses that
//! count as those of the critical side in period `j`,
//!
//! ```text
//! b_0 = Q,    b_{j+1} = Q + max(0, b_j - A_j),    and b = Q again after n periods
//! ```
//!
//! Of a critical PCPU at most `I_j <= min(A_j, b_j)` accesses have to wait. With
//! `b_{j+1} = Q + b_j - min(A_j, b_j)`, which a reset or a flush only reduces, periods `s` to `e`
//! have
//!
//! ```text
//! I_s + ... + I_e <= (e - s + 1) Q + b_s - b_{e+1} <= (e - s + 1) Q + b_s - Q
//! ```
//!
//! for any `s` and `e`.
//!
//! - From the start of a reset window, or from a flush, `b_s = Q`: any number of periods has as
//!   many accesses as without compensation, a reset window of `n` periods `nQ` (XenThrottle's
//!   statement, for `n = 2`). [`from_flush`] is for windows that begin like this.
//! - For any start, `b_s <= nQ`: there can be `(n - 1) Q` more, once in any window. A task meets
//!   this case if it is released after the critical side made no accesses for a while: a flush at a
//!   switch of VCPUs does not help a task that is released while its VCPU runs.
//!   [`with_compensation`] is for any window.
//!
//! The argument only needs `I_j <= min(A_j, b_j)` for each critical PCPU. So with several critical
//! PCPUs `A_j` is that of the PCPU with most accesses, or the sum. And if the VM with the budget
//! runs on `k` PCPUs, each access can wait for `k` of its accesses: then `k A_j` has to replace
//! `A_j`. A credit of `b_j - A_j` would give back interference that was used.
//!
//! For PCPUs that do not count as critical, see [`for_others`].

use crate::Duration;
use crate::memory::{Bus, Curve, Reservation};

/// For critical PCPUs and any window: returns the curve of a reservation with compensation whose
/// credits are reset every `n` periods, whatever is flushed.
///
/// Accesses that are on their way at the end of a period may be credited though they had to wait:
/// [`Bus::in_flight`] counts here for each PCPU on which the one with the reservation runs.
pub fn with_compensation(reservation: &Reservation, bus: &Bus, n: u32) -> Curve {
    let curve = Curve::new(reservation, bus);
    if n < 2 {
        return curve;
    }
    let credit = u64::from(n - 1).saturating_mul(reservation.accesses());
    curve.more(Duration(0), credit.saturating_add(bus.in_flight), bus)
}

/// For critical PCPUs and windows that begin with a flush: the same, for any number of periods
/// between resets.
///
/// The first period of the window may be almost over, and what was not used in it is credited: the
/// steps lie `QL` earlier than without compensation.
pub fn from_flush(reservation: &Reservation, bus: &Bus) -> Curve {
    let curve = Curve::new(reservation, bus);
    curve.more(curve.staircase().step(), bus.in_flight, bus)
}

/// For PCPUs that are not critical: returns the curve of the same reservation.
///
/// With the largest possible compensation, a reset window has budgets of `Q`, `2Q`, up to `nQ`:
/// `(n + 1)/2 Q` in the mean, and `r` periods in a row at most `r (n - r)/2 Q` more than `r` times
/// the mean. This excess is not above `n^2/8 Q`.
pub fn for_others(reservation: &Reservation, bus: &Bus, n: u32) -> Curve {
    if n < 2 {
        return Curve::new(reservation, bus);
    }
    let (n, accesses) = (u64::from(n), reservation.accesses());
    let mean = (n + 1).saturating_mul(accesses).div_ceil(2);
    let more = (n * n).div_ceil(8).saturating_mul(accesses);
    Curve::new(&reservation.with_accesses(mean), bus).more(Duration(0), more, bus)
}
