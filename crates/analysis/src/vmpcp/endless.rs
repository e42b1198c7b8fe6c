//! Waits that nothing limits.

use crate::window::{Stop, TOO_LONG};

/// The reason why nothing limits a wait.
#[derive(Clone, Copy, Debug)]
pub enum Endless {
    /// The search ended without a result.
    Stopped(Stop),
    /// The tasks ahead have no bound, or leave no time.
    Others,
}

impl From<Stop> for Endless {
    fn from(stop: Stop) -> Self {
        match stop {
            // The wait is above [`LONGEST`].
            Stop::Beyond(TOO_LONG) => Self::Others,
            stop => Self::Stopped(stop),
        }
    }
}
