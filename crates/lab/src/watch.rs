//! Callers that wait while work is done.

use std::sync::atomic::{AtomicBool, Ordering};

/// A caller that waits while machines run or systems are computed.
pub trait Watch {
    /// Returns true if the work is to be stopped; the results of machines that run are not wanted any more.
    fn stops(&self) -> bool;

    /// Work goes on with this step.
    fn step(&self, _what: &str) {}

    /// Work begins that consists of `all` parts; `unit` says what a part is.
    fn begin(&self, _what: &str, _unit: &str, _all: u64) {}

    /// Is called when this number of parts is complete.
    fn done(&self, _parts: u64) {}

    /// Time has passed.
    fn tick(&self) {}
}

impl Watch for AtomicBool {
    fn stops(&self) -> bool {
        self.load(Ordering::SeqCst)
    }
}
