//! Quantities as types, so that a time is never taken for a size, and how they are written: `3ms`,
//! `512MiB`.

#![forbid(unsafe_code)]

mod duration;
mod frequency;
mod quantity;
mod rate;
mod size;

pub use duration::Duration;
pub use frequency::Frequency;
pub use quantity::{Quantity, QuantityError, parse};
pub use rate::Rate;
pub use size::Bytes;
