//! Measurements on the machine at hand.
//!
//! [`colors::probe`] answers whether page colours of its last-level cache can be
//! observed: whether pages that the cache must keep in the same sets push each other
//! out, and pages of other colours do not. [`isolation::measure`] answers how much other
//! programs slow one down.

#![deny(unsafe_code)]

mod arch;
mod buffer;
pub mod cache;
pub mod colors;
pub mod isolation;
mod machine;
mod missing;
mod statistics;

pub use missing::Missing;
pub use statistics::Interval;
