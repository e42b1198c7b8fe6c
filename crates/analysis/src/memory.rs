//! Memory interference: the delays that accesses of others cause a task, and the budgets of
//! accesses that keep these delays small enough (XenThrottle, chapter 3).
//!
//! - [`Staircase`], [`Curve`], [`Reservation::accesses_in`]: the accesses of a VCPU or VM with a
//!   budget in a window;
//! - [`compensation`]: the same if interference that did not happen is given back;
//! - [`Contention`]: the time for which tasks wait because of these accesses;
//! - [`mod@budget`]: the largest budgets with which critical tasks are in time;
//! - [`published`]: the analysis of the thesis, as published.
//!
//! A budget `Q` is a number of accesses in each period `P`. Each access delays others for at most
//! the latency `L`. [`Bus`] has the other assumptions.

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
