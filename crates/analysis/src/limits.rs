//! How far analyses search.

use crate::{Duration, LONGEST};

/// Where a search for a bound ends without one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Longest busy period that is looked at; at most [`LONGEST`].
    pub window: Duration,
    /// Steps of all fixed-point iterations of a task set together.
    pub passes: u32,
}

impl Default for Limits {
    /// Windows of [`LONGEST`], a million steps.
    fn default() -> Self {
        Self { window: LONGEST, passes: 1_000_000 }
    }
}
