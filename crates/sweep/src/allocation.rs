//! Systems of vCache, section 6.2: what schemes need to allocate them.

mod solver;
mod sweep;

pub use solver::{Scheme, Solver, Systems};
pub use sweep::Settings;
