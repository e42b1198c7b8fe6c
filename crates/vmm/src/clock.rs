//! Time: nanoseconds of `CLOCK_MONOTONIC`, and what the time-stamp counter shows then.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::sys;

/// Pairs of clock and counter from which the closest is taken.
const ATTEMPTS: usize = 8;
/// Time to read a pair that is close enough.
const CLOSE_NS: u64 = 500;
/// Time for which the counter is compared with the clock.
const COMPARED: Duration = Duration::from_millis(50);

/// Returns the time in nanoseconds.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A guest that goes on keeps its clock for this time, within which Linux changes the speed of its own by up to 5 us.
const FRESH_NS: u64 = 10_000_000;

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

    /// Returns the words at [`abi::kvm::CLOCK_WORD`], as of now; `None` if those with this value of the counter are still good.
    pub fn renewed(self, counter: u64) -> Option<[u64; 3]> {
        let ticks = sys::time_stamp().wrapping_sub(counter);
        let passed = (u128::from(ticks) * u128::from(self.0)) >> 32;
        (passed > u128::from(FRESH_NS)).then(|| self.clock())
    }

    /// Returns the words at [`abi::kvm::CLOCK_WORD`], as of now.
    pub fn clock(self) -> [u64; 3] {
        let ticks = (u128::from(CLOSE_NS) << 32) / u128::from(self.0.max(1));
        let (counter, time) = closest(look, ticks as u64);
        [counter, time, self.0]
    }
}

/// Returns a value of the counter and the time then, as close as possible.
fn pair() -> (u64, u64) {
    closest(look, 0)
}

/// Returns the time, and the counter before and after it.
fn look() -> [u64; 3] {
    let before = sys::time_stamp();
    let time = now();
    [before, time, sys::time_stamp()]
}

/// Returns a value of the counter and the time then, from the first look that takes no more than these ticks, or else from the
/// shortest one: when the CPU is taken away between the two, then they do not belong to each other.
fn closest(mut look: impl FnMut() -> [u64; 3], ticks: u64) -> (u64, u64) {
    let mut best = (u64::MAX, (0, 0));
    for _ in 0..ATTEMPTS {
        let [before, time, after] = look();
        let width = after.saturating_sub(before);
        if width < best.0 {
            best = (width, (before + width / 2, time));
        }
        if width <= ticks {
            break;
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_took_too_long_is_not_believed() {
        let looked = |looks: &[[u64; 3]], ticks| {
            let mut looks = looks.iter().copied().chain(std::iter::repeat([0, 1, 9_999]));
            closest(|| looks.next().expect("endless"), ticks)
        };
        // The CPU was taken away once, and then the first one that is close is taken.
        let looks = [[0, 7_000, 8_000], [8_100, 8_110, 8_120], [8_200, 8_205, 8_210]];
        assert_eq!(looked(&looks, 50), (8_110, 8_110));
        assert_eq!(looked(&looks, 0), (8_205, 8_205));
        // Always: then the best one.
        assert_eq!(looked(&[[0, 1, 5_000]], 50), (2_500, 1));
    }

    #[test]
    fn a_clock_is_good_for_a_while() {
        let scale = Scale::measure();
        let [counter, ..] = scale.clock();
        assert_eq!(scale.renewed(counter), None);
        std::thread::sleep(Duration::from_nanos(FRESH_NS + 1_000_000));
        assert!(scale.renewed(counter).is_some_and(|[later, ..]| later > counter));
        assert!(scale.renewed(0).is_some(), "there was none yet");
    }

    #[test]
    fn counter_and_clock_show_the_same_time() {
        let clock = Scale::measure().clock();
        std::thread::sleep(Duration::from_millis(20));
        let (counter, time) = pair();
        let shown = abi::kvm::nanoseconds(counter, clock);
        assert!(shown.abs_diff(time) < 100_000, "{shown} {time}");
    }
}
