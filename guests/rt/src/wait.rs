//! Waiting with a limit.

use core::time::Duration;

use crate::arch::{counter, cpu};
use crate::time::Clock;

/// Instructions between two looks at a condition.
const BETWEEN_LOOKS: u64 = 1_000;

/// Waits until `condition` holds, at most `limit`. Returns true if it does.
pub fn until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = counter::now() + Clock::of_machine().ticks(limit.as_nanos() as u64);
    loop {
        if condition() {
            return true;
        }
        if counter::now() >= end {
            return false;
        }
        // An emulator that runs processors in turns goes on with the next one when this one relaxes. Where all of them only wait, time
        // would go by with a few instructions a turn.
        cpu::burn(BETWEEN_LOOKS);
        cpu::relax();
    }
}

/// Lets time pass.
pub fn pause(time: Duration) {
    until(time, || false);
}
