//! Statistics of a simulation.

/// Results of a task. Times are nanoseconds; responses are those of complete jobs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TaskStatistics {
    /// Jobs that are complete.
    pub jobs: u64,
    /// Jobs that completed after their deadline.
    pub misses: u64,
    /// Jobs that were released.
    pub releases: u64,
    /// Longest time from release to completion.
    pub response_max_ns: u64,
    /// Shortest time from release to completion.
    pub response_min_ns: u64,
    /// Sum of these times.
    pub response_sum_ns: u128,
}

impl TaskStatistics {
    pub(crate) fn complete(&mut self, response: u64, deadline: u64) {
        self.response_min_ns = match self.jobs {
            0 => response,
            _ => self.response_min_ns.min(response),
        };
        self.jobs += 1;
        self.misses += u64::from(response > deadline);
        self.response_max_ns = self.response_max_ns.max(response);
        self.response_sum_ns += u128::from(response);
    }
}

/// Results of a VCPU.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct VcpuStatistics {
    /// Nanoseconds for which it ran.
    pub supply_ns: u64,
    /// Number of times that the VCPU began to run.
    pub dispatches: u64,
    /// Memory accesses that its jobs have made.
    pub accesses: u64,
    /// Nanoseconds for which it would have run, but waited for accesses.
    pub throttled_ns: u64,
    /// Nanoseconds for which its accesses waited for those of other PCPUs.
    pub delayed_ns: u64,
}
