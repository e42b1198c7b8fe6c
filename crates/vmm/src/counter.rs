//! Counters of what a thread does: accesses to memory, where the CPU counts them.

use std::io;
use std::os::fd::OwnedFd;

use crate::error::Error;
use crate::real_time::RealTime;
use crate::sys::counter as sys;

/// Something that a thread does, and that is counted: by its guest, by KVM and Linux in its name, and by its program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// Misses of the last-level cache, as Linux defines them for the CPU (`PERF_COUNT_HW_CACHE_MISSES`).
    CacheMisses,
    /// Instructions.
    Instructions,
    /// Cycles of the CPU.
    Cycles,
    /// An event of the CPU by its number: event select, and unit mask times 256 (`PERF_TYPE_RAW`).
    Raw(u16),
    /// Nanoseconds in which the thread executes. No CPU has to count these.
    Clock,
}

/// CPUs do not wait for fewer of some events.
const FEW: u64 = 1_024;
/// No limit.
const UNLIMITED: u64 = 1 << 62;
/// Nanoseconds, and the part of all time, for which a counter may have missed events before nobody can rely on it.
const MISSED_NS: u64 = 1_000_000;
const MISSED_PART: u64 = 1_000;

impl Event {
    /// Returns type and number, as Linux has them.
    fn numbers(self) -> (u32, u64) {
        const HARDWARE: u32 = 0;
        const SOFTWARE: u32 = 1;
        const RAW: u32 = 4;
        match self {
            Self::Cycles => (HARDWARE, 0),
            Self::Instructions => (HARDWARE, 1),
            Self::CacheMisses => (HARDWARE, 3),
            Self::Raw(number) => (RAW, number.into()),
            // `PERF_COUNT_SW_TASK_CLOCK`
            Self::Clock => (SOFTWARE, 1),
        }
    }

    fn attributes(self) -> sys::Attributes {
        let (kind, config) = self.numbers();
        sys::Attributes::new(kind, config, UNLIMITED)
    }
}

/// Counts an event of a thread, and wakes the thread at a limit, as [`crate::Alarm`] does.
///
/// Linux stops an event that reaches its limits too often (`kernel.perf_event_max_sample_rate`) until a limit is set again. Each
/// time that a limit is reached, the caller sets the next one or none: so at most what the thread does until then is not counted.
#[derive(Debug)]
pub struct Counter {
    file: OwnedFd,
    /// The count at which it wakes the thread next; `None`: it may have done so.
    limit: Option<Option<u64>>,
}

impl Counter {
    /// Makes a counter of the calling thread, which is this one, from now on and without a limit.
    pub fn new(event: Event, thread: &RealTime) -> Result<Self, Error> {
        let file = sys::open(&event.attributes())
            .map_err(|error| Error::NoCounter { error: explained(event, error) })?;
        sys::send_signal(&file, thread.id(), thread.signal())
            .map_err(Error::io("a counter of memory accesses cannot wake a thread"))?;
        Ok(Self { file, limit: Some(None) })
    }

    /// Returns the number of events since the counter was made. `None`: Linux has not counted all of them, because others use
    /// the counters of the CPU, or because it counts no such events on this CPU.
    pub fn count(&self) -> Option<u64> {
        let values = sys::read(&self.file)?;
        counts(values).then_some(values.events)
    }

    /// Wakes the thread when the count, which is `count` now, reaches `limit`, or up to 1,024 events later where the CPU cannot wait
    /// for fewer; at once if it has; `None`: not at all. Returns false if that cannot be.
    #[must_use]
    pub fn set_limit(&mut self, limit: Option<u64>, count: u64) -> bool {
        if self.limit == Some(limit) {
            return true;
        }
        self.limit = Some(limit);
        let period = limit.map_or(UNLIMITED, |limit| limit.saturating_sub(count));
        let period = period.clamp(1, UNLIMITED);
        let set = |period| sys::set_period(&self.file, period).is_ok();
        set(period) || period < FEW && set(FEW)
    }

    /// The thread was woken, maybe by this counter: the same limit may be set again.
    pub fn rang(&mut self) {
        if self.limit != Some(None) {
            self.limit = None;
        }
    }
}

/// Returns true if a counter with these values has counted almost all the time.
fn counts(values: sys::Values) -> bool {
    let missed = values.wanted.saturating_sub(values.counted);
    missed <= MISSED_NS.max(values.wanted / MISSED_PART)
}

/// Names the cause where Linux has only a number for it.
fn explained(event: Event, error: io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::EINVAL) => {
            format!("this CPU has no such counter, or Linux may not use it ({event:?}: {error})")
        }
        Some(libc::EACCES | libc::EPERM) => format!(
            "this process may not count events of the kernel (as root, with `CAP_PERFMON`, or with \
             `sysctl kernel.perf_event_paranoid=1`, it may): {error}"
        ),
        Some(libc::EBUSY) => format!("others use the counters of the CPU: {error}"),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::mem;

    use super::*;

    #[test]
    fn events_have_the_numbers_of_linux() {
        for (event, kind, config) in [
            (Event::Cycles, 0, 0),
            (Event::Instructions, 0, 1),
            (Event::CacheMisses, 0, 3),
            (Event::Raw(0x412e), 4, 0x412e),
            (Event::Clock, 1, 1),
        ] {
            let attributes = event.attributes();
            assert_eq!((attributes.kind, attributes.config), (kind, config), "{event:?}");
            assert_eq!(attributes.sample_period, UNLIMITED);
        }
        assert_eq!(mem::size_of::<sys::Attributes>(), 64);
    }

    #[test]
    fn a_counter_that_others_displaced_is_not_believed() {
        let values = |wanted, counted| sys::Values { events: 7, wanted, counted };
        assert!(counts(values(0, 0)) && counts(values(5_000_000_000, 4_999_000_000)));
        assert!(!counts(values(2_000_000, 0)) && !counts(values(5_000_000_000, 4_990_000_000)));
    }
}
