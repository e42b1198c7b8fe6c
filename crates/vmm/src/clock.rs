//! Time: nanoseconds of `CLOCK_MONOTONIC`, and what the time-stamp counter shows then.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::sys;

/// Pairs of clock and counter from which the closest is taken.
const ATTEMPTS: usize = 8;
/// Time for which the counter is compared with the clock.
const COMPARED: Duration = Duration::from_millis(50);

/// Returns the time in nanoseconds.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The speed of the time-stamp counter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Scale(u64);

impl Scale {
    /// Compares the counter with the clock for a while.
    pub fn measure() -> Self {
        let (counter, time) = pair();
        std::thread::sleep(COMPARED);
        let (later, end) = pair();
        let ticks = u128::from(later.saturating_sub(counter)).max(1);
        Self(((u128::from(end - time) << 32) / ticks) as u64)
    }

    /// Returns the words at [`abi::kvm::CLOCK_WORD`], as of now.
    pub fn clock(self) -> [u64; 3] {
        let counter = sys::time_stamp();
        [counter, now(), self.0]
    }
}

/// Returns a value of the counter and the time then.
fn pair() -> (u64, u64) {
    let attempt = |_| {
        let (before, time, after) = (sys::time_stamp(), now(), sys::time_stamp());
        (after.saturating_sub(before), (before / 2 + after / 2, time))
    };
    (0..ATTEMPTS).map(attempt).min_by_key(|(width, _)| *width).map_or((0, 0), |(_, pair)| pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_and_clock_show_the_same_time() {
        let clock = Scale::measure().clock();
        std::thread::sleep(Duration::from_millis(20));
        let (counter, time) = pair();
        let shown = abi::kvm::nanoseconds(counter, clock);
        assert!(shown.abs_diff(time) < 100_000, "{shown} {time}");
    }
}
