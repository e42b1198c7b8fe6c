//! Memory interference: what others that make accesses cost a task, and which budgets of
//! accesses keep that low enough (XenThrottle, chapter 3).
//!
//! - [`Staircase`], [`Curve`], [`Reservation::accesses_in`]: how much one with a budget does in a
//!   window;
//! - [`compensation`]: the same if interference that did not happen is given back;
//! - [`Contention`]: for how long tasks wait because of that;
//! - [`mod@budget`]: the largest budgets that leave critical tasks in time;
//! - [`published`]: the analysis of the thesis, as it stands.
//!
//! A budget `Q` is a number of accesses in each period `P`. Each of them keeps others waiting for
//! the latency `L` at most. [`Bus`] says what else is assumed.

pub mod budget;
mod bus;
pub mod compensation;
mod contention;
mod curve;
pub mod published;
mod reservation;
mod source;
mod staircase;

pub use bus::Bus;
pub use contention::{Contention, Interferer, Throttle};
pub(crate) use contention::{Memory, NoContention, Waits};
pub use curve::Curve;
pub use reservation::{Reservation, ReservationError};
pub use source::{Source, interferers};
pub use staircase::Staircase;
