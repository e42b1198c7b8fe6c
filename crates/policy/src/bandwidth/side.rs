//! The accesses of critical VCPUs of a CPU, on their way to a VM that gets credits for the rest (XenThrottle, section 3.4).

use crate::time::{Duration, Instant};

/// The accesses of the critical VCPUs of a CPU in the current period of a VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Side {
    period: Duration,
    end: Instant,
    accesses: u64,
}

impl Side {
    /// Makes a side without accesses. The first period of the VM begins at `start`, and its `period` is longer than 0.
    pub fn new(period: Duration, start: Instant) -> Self {
        Self { period: Duration(period.0.max(1)), end: start, accesses: 0 }
    }

    /// Critical VCPUs have made accesses since the last call, until `now`. If a period has ended, returns all accesses that they
    /// have made since the period before, and the end of the period: what [`super::Pool::report`] is to know. If nobody looked
    /// for several periods, it is told with the last.
    pub fn count(&mut self, accesses: u64, now: Instant) -> Option<(u64, Instant)> {
        self.accesses = self.accesses.saturating_add(accesses);
        if now < self.end {
            return None;
        }
        let periods = (now - self.end).0 / self.period.0;
        let end = self.end + Duration(periods * self.period.0);
        self.end = end + self.period;
        Some((core::mem::take(&mut self.accesses), end))
    }

    /// Returns the time at which a period ends next.
    pub fn end(&self) -> Instant {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_told_once_at_the_end_of_their_period() {
        let mut side = Side::new(Duration(10), Instant(100));
        assert_eq!(side.count(1, Instant(99)), None);
        assert_eq!(side.count(2, Instant(100)), Some((3, Instant(100))));
        assert_eq!(side.end(), Instant(110));
        assert_eq!(side.count(4, Instant(105)), None);
        assert_eq!(side.count(5, Instant(113)), Some((9, Instant(110))));
        // Nobody looked in two periods.
        assert_eq!(side.count(6, Instant(141)), Some((6, Instant(140))));
        assert_eq!(side.count(0, Instant(150)), Some((0, Instant(150))));
    }
}
