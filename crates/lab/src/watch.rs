//! Those that wait while a machine runs.

use std::sync::atomic::{AtomicBool, Ordering};

/// Somebody who waits while a machine runs.
pub trait Watch {
    /// Returns true if the machine is to be stopped, and its results are not wanted any more.
    fn stops(&self) -> bool;

    /// Time has passed.
    fn tick(&self) {}
}

impl Watch for AtomicBool {
    fn stops(&self) -> bool {
        self.load(Ordering::SeqCst)
    }
}
