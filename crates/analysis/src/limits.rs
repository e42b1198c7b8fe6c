//! Limits of the searches.

use crate::{Duration, LONGEST};

/// The limits at which a search for a bound ends without a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Longest busy period that is examined; at most [`LONGEST`].
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
