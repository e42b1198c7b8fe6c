//! Waiting with a limit.

use core::time::Duration;

use crate::arch::{counter, cpu};
use crate::time::Clock;

/// Waits until `condition` holds, at most `limit`; returns whether it does.
pub fn until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = counter::now() + Clock::of_machine().ticks(limit.as_nanos() as u64);
    loop {
        if condition() {
            return true;
        }
        if counter::now() >= end {
            return false;
        }
        cpu::relax();
    }
}

/// Lets time pass.
pub fn pause(time: Duration) {
    until(time, || false);
}
