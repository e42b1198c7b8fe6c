//! How many memory accesses a VCPU may make, and when.
//!
//! A budget is a number of accesses in each period: of one VCPU ([`Account::own`]; XvIso,
//! section IV), or of all VCPUs of a VM together ([`Account::shared`] with a [`Pool`];
//! XenThrottle, section 3.3). The accesses are counted by hardware, which tells when there
//! have been as many as were left: the VCPU then waits for the next period (XvIso's state
//! RECHARGE). [`crate::cpu`] joins this with processor time.
//!
//! Periods begin at `start + k * period`, whenever that is noticed. Accesses that a VCPU made
//! beyond its budget, because it was stopped late, are a debt that the next periods pay, so
//! that the excess over any number of periods is that of one. Accesses made after the end of
//! a period that is noticed late count for that period if it has budget left for them.
//! So if nothing is ever noticed later than by `d`, and if no overflow is noticed after more
//! than `o` further accesses, a VCPU makes in a window of length `t` at most
//!
//! ```text
//! (floor((t + d)/P) + 2) Q + o
//! ```
//!
//! accesses: those of the periods that it lies in. VCPUs that share a budget on `k` CPUs make
//! `k o` instead of `o` accesses beyond it.

mod account;
mod compensation;
mod grant;
pub mod overshoot;
mod parameters;
mod pool;

pub use account::Account;
pub use compensation::Compensation;
pub use grant::{Grant, Grants, NoGrants};
pub use parameters::{Parameters, ParametersError};
pub use pool::Pool;
