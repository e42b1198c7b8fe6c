//! What is simulated.

use policy::server::Policy;

/// Physical CPUs with all that runs on them.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// The physical CPUs.
    pub pcpus: Vec<Pcpu>,
}

/// A physical CPU.
#[derive(Clone, Debug, Default)]
pub struct Pcpu {
    /// Its VCPUs, the one with the highest priority first; those of the background
    /// class last.
    pub vcpus: Vec<Vcpu>,
}

/// A virtual CPU.
#[derive(Clone, Debug)]
pub struct Vcpu {
    /// Name in messages.
    pub name: String,
    /// How much of the CPU it gets; ticks are nanoseconds.
    pub server: Policy,
    /// Its tasks, the one with the highest priority first; at most
    /// [`policy::task::TASKS_MAX`].
    pub tasks: Vec<Task>,
}

/// A task that releases jobs again and again.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name in messages.
    pub name: String,
    /// Time of the first release in nanoseconds.
    pub offset: u64,
    /// Least time between two releases in nanoseconds: `T`.
    pub period: u64,
    /// From release to deadline in nanoseconds: `D`.
    pub deadline: u64,
    /// When jobs are released.
    pub release: Release,
    /// How long jobs execute.
    pub execution: Execution,
}

/// When the jobs of a task are released.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Release {
    /// Once in each period.
    Periodic,
    /// The period and up to so many nanoseconds more after the release before,
    /// uniformly distributed.
    Sporadic {
        /// Longest delay in nanoseconds.
        delay_max: u64,
    },
    /// The first one at the offset, then one at each of these times in nanoseconds, in
    /// ascending order. The period does not count.
    Trace(Vec<u64>),
}

/// How long the jobs of a task execute, in nanoseconds; at least one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Execution {
    /// All jobs for the same time: the worst case `C`.
    Always(u64),
    /// Uniformly distributed.
    Uniform {
        /// Shortest time.
        min: u64,
        /// Longest time.
        max: u64,
    },
    /// One after the other, and then from the start again.
    Trace(Vec<u64>),
}
