//! Measurements on the machine at hand.
//!
//! [`colors::probe`] answers whether page colours of its last-level cache can be
//! observed: whether pages that the cache must keep in the same sets push each other
//! out, and pages of other colours do not.

#![forbid(unsafe_code)]

mod buffer;
pub mod cache;
pub mod colors;
mod machine;
mod missing;
mod statistics;

pub use missing::Missing;
pub use statistics::Interval;
