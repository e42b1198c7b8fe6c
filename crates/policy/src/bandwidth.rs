//! Memory budgets: how many memory accesses a VCPU may make, and when.
//!
//! A budget is a number of accesses in each period: of one VCPU ([`Account::own`]; XvIso, section
//! IV), or of all VCPUs of a VM together ([`Account::shared`] with a [`Pool`]; XenThrottle, section
//! 3.3). Hardware counts the accesses and interrupts when the budget is used up: the VCPU then
//! waits for the next period (XvIso's state RECHARGE). [`crate::cpu`] combines this with processor
//! time.
//!
//! Periods begin at `start + k * period`, whenever that is noticed. Accesses beyond the budget,
//! because the VCPU was stopped late, are a debt that the next periods pay, so that the excess over
//! any number of periods is that of one. If the end of a period is noticed late, accesses after
//! that end count for the period as long as it has budget left. Suppose that everything is noticed
//! within `d`, and each overflow within `o` further accesses. Then a VCPU makes in a window of
//! length `t` at most
//!
//! ```text
//! (floor((t + d)/P) + 2) Q + o
//! ```
//!
//! accesses: those of the periods that overlap the window. VCPUs that share a budget on `k` CPUs
//! make `k o` instead of `o` accesses beyond it.

mod account;
mod compensation;
mod grant;
pub mod overshoot;
mod parameters;
mod pool;
mod side;

pub use account::Account;
pub use compensation::Compensation;
pub use grant::{Grant, Grants, NoGrants};
pub use parameters::{Parameters, ParametersError};
pub use pool::Pool;
pub use side::Side;
