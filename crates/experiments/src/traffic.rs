//! Memory traffic over time: what cachescope has counted of a VM, and what a budget allows.

use std::ops::Range;

use analysis::Duration;
use analysis::memory::{Bus, Reservation};
use lab::cachescope::bins::Bin;
use lab::cachescope::jobs::Job;
use serde::Deserialize;

/// Accesses to memory while a task's jobs run, from the start of the first to the end of the last: lines that
/// come and lines that go, as cachescope counts them, whatever holds the VM to a budget.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// The VM. The boot ends when it has ended.
    pub vm: String,
    /// The number of the task in its marks.
    pub task: u64,
    /// The unit of `x`; whole bins of cachescope.
    pub interval_us: u64,
    /// The accesses that count.
    pub count: Count,
}

/// The accesses that count at a place.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Accesses in interval `x`, counted from 0: the phase graph.
    Each,
    /// Accesses in the first `x` intervals.
    Sum,
    /// Accesses in any `x` intervals in a row, wherever there are most: the arrival curve.
    Most,
}

/// The most accesses in a window of `x` intervals that a budget allows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// The budget.
    pub accesses: u64,
    /// Its period.
    pub period_us: u64,
    /// Accesses beyond the budget until the VCPU has been stopped.
    pub overshoot: u64,
    /// The unit of `x`.
    pub interval_us: u64,
}

impl Allowed {
    /// The most accesses in `x` intervals; `None` if the period is none.
    pub fn at(&self, x: u64) -> Option<u64> {
        let ns = |us: u64| us.saturating_mul(1000);
        let reservation = Reservation::new(self.accesses, Duration(ns(self.period_us))).ok()?;
        let bus = Bus { overshoot: self.overshoot, ..Bus::ideal(Duration(0)) };
        // The end of the window is the start of the next one.
        let window = ns(self.interval_us).saturating_mul(x).saturating_sub(1);
        Some(reservation.accesses_in(Duration(window), &bus))
    }
}

impl Traffic {
    /// The accesses at a place; `None` if no job was marked.
    pub fn at(&self, x: u64, bins: &[Bin], jobs: &[Job]) -> Option<u64> {
        let jobs = || jobs.iter().filter(|job| job.vm == self.vm && job.task == self.task);
        let start = jobs().map(|job| job.start_ns).min()?;
        let end = jobs().map(|job| job.finish_ns).max()?;
        let bins: Vec<(u64, u64)> = bins
            .iter()
            .filter(|bin| bin.owner == self.vm && (start..end).contains(&bin.time_ns))
            .map(|bin| (bin.time_ns - start, bin.accesses()))
            .collect();
        let interval = self.interval_us.saturating_mul(1000);
        let sum = |range: Range<u64>| {
            bins.iter().filter(|(time, _)| range.contains(time)).map(|(_, accesses)| accesses).sum()
        };
        let length = interval.saturating_mul(x);
        Some(match self.count {
            Count::Each => sum(length..length.saturating_add(interval)),
            Count::Sum => sum(0..length),
            Count::Most => most(&bins, length),
        })
    }
}

/// The most accesses in a window; times ascend.
fn most(bins: &[(u64, u64)], length: u64) -> u64 {
    let (mut sum, mut most, mut first) = (0, 0, 0);
    for &(time, accesses) in bins {
        sum += accesses;
        while let Some(gone) = bins.get(first).filter(|(start, _)| start + length <= time) {
            sum -= gone.1;
            first += 1;
        }
        most = most.max(sum);
    }
    most
}

#[cfg(test)]
mod tests {
    use lab::cachescope::bins::ACCESS_BYTES;

    use super::*;
    use crate::job::tests::job as job_of;

    fn bin(time_us: u64, owner: &str, read: u64, written: u64) -> Bin {
        Bin {
            time_ns: time_us * 1000,
            owner: owner.into(),
            memory_read_bytes: read * ACCESS_BYTES,
            memory_written_bytes: written * ACCESS_BYTES,
        }
    }

    #[test]
    fn accesses_between_the_first_start_and_the_last_end_count() {
        let bins = [
            bin(900, "a", 99, 0),
            bin(1000, "a", 3, 1),
            bin(1000, "b", 50, 0),
            bin(1300, "a", 2, 0),
            bin(1500, "a", 0, 8),
            bin(1700, "a", 5, 0),
            bin(1900, "a", 99, 0),
        ];
        let job = |start_us: u64, finish_us: u64| {
            let (start_ns, finish_ns) = (start_us * 1000 - 10, finish_us * 1000 - 10);
            Job { start_ns, finish_ns, ..job_of("a", 7, 1) }
        };
        let jobs = [job(1000, 1400), job(1500, 1900)];
        let at = |count, x| {
            let vm = "a".into();
            Traffic { vm, task: 7, interval_us: 200, count }.at(x, &bins, &jobs)
        };
        let all = |count, range: Range<u64>| range.map(|x| at(count, x)).collect::<Vec<_>>();
        assert_eq!(all(Count::Each, 0..6), [4, 2, 8, 5, 0, 0].map(Some));
        assert_eq!(all(Count::Sum, 0..6), [0, 4, 6, 14, 19, 19].map(Some));
        assert_eq!(all(Count::Most, 0..6), [0, 8, 13, 15, 19, 19].map(Some));
        let other = Traffic { vm: "a".into(), task: 8, interval_us: 200, count: Count::Each };
        assert_eq!(other.at(0, &bins, &jobs), None);
    }

    #[test]
    fn a_window_as_long_as_a_period_may_have_two_budgets() {
        let allowed = Allowed { accesses: 100, period_us: 1000, overshoot: 7, interval_us: 100 };
        let at = |x| allowed.at(x).expect("a budget");
        assert_eq!([1, 10, 11, 20, 21].map(at), [207, 207, 307, 307, 407]);
        assert_eq!(Allowed { period_us: 0, ..allowed }.at(1), None);
    }
}
