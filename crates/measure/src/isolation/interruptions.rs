//! The kernel's counts of this thread's interruptions.

use std::fs;

/// Number and time of the waits of this thread for its CPU.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Interruptions {
    /// Number of times that another program took its CPU.
    pub preemptions: u64,
    /// Time that the thread was ready and did not run, in nanoseconds.
    pub waited_ns: u64,
}

impl Interruptions {
    /// Returns the counts until now.
    pub fn now() -> Self {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let schedule = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        Self { preemptions: preemptions(&status), waited_ns: waited_ns(&schedule) }
    }

    /// Returns the counts between an earlier time and this one.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }
}

fn preemptions(status: &str) -> u64 {
    let line = status.lines().find_map(|it| it.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// Returns the time that the thread waited. The file has the time that it ran, the time that it
/// waited, and the number of its turns.
fn waited_ns(schedule: &str) -> u64 {
    schedule.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_read() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t9\n";
        assert_eq!(preemptions(status), 9);
        assert_eq!(waited_ns("123 456 7\n"), 456);
        assert_eq!((preemptions(""), waited_ns("")), (0, 0));
    }
}
