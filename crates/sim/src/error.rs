//! The reasons why a system cannot be simulated.

use policy::bandwidth;
use policy::server::ParametersError;

use crate::tasks::TASKS_MAX;

/// A mistake in a system, and its place.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// A server with impossible parameters.
    #[error("VCPU {vcpu}: {error}")]
    Server {
        /// Name of the VCPU.
        vcpu: String,
        /// The mistake.
        error: ParametersError,
    },
    /// An impossible memory budget.
    #[error("{name}: {error}")]
    Memory {
        /// Name of the VCPU or of the pool.
        name: String,
        /// The mistake.
        error: bandwidth::ParametersError,
    },
    /// A VCPU shares a memory budget that there is not.
    #[error("VCPU {vcpu}: there is no pool {pool}")]
    NoPool {
        /// Name of the VCPU.
        vcpu: String,
        /// The index that it has.
        pool: usize,
    },
    /// There are more PCPUs with critical VCPUs than the simulator can handle.
    #[error("{pcpus} PCPUs, at most 64 are possible where memory budgets are compensated")]
    TooManyPcpus {
        /// PCPUs.
        pcpus: usize,
    },
    /// A task that makes an access every 0 ns, or with others where there is no contention.
    #[error("task {task}: its memory accesses need a distance of at least 1 ns, or contention")]
    Accesses {
        /// Name of the task.
        task: String,
    },
    /// A channel connects a task that there is not, or rings release a task with other releases.
    #[error("channel {channel}: it rings for tasks that do not wait for rings, or names no task")]
    Channel {
        /// Index of the channel.
        channel: usize,
    },
    /// A VCPU has more than [`TASKS_MAX`] tasks.
    #[error("VCPU {vcpu}: {tasks} tasks, at most {TASKS_MAX} are possible")]
    TooManyTasks {
        /// Name of the VCPU.
        vcpu: String,
        /// Number of tasks of the VCPU.
        tasks: usize,
    },
    /// A VCPU of the background class has a higher priority than another one.
    #[error("VCPU {vcpu}: VCPUs of the background class come last on their PCPU")]
    BackgroundFirst {
        /// Name of the VCPU.
        vcpu: String,
    },
    /// A period of 0.
    #[error("task {task}: its period is 0")]
    NoPeriod {
        /// Name of the task.
        task: String,
    },
    /// Execution times of 0, none at all, or a shortest time above the longest.
    #[error(
        "task {task}: execution times must be at least 1 ns, the shortest not above the longest"
    )]
    Execution {
        /// Name of the task.
        task: String,
    },
    /// Critical sections of a task that is not there, of resources that are not there or not
    /// global although used on several VCPUs, or longer than the task; or ranks that are missing,
    /// too large or given twice.
    #[error("locks: {what}")]
    Locks {
        /// The mistake.
        what: String,
    },
    /// Jobs of a task pile up without end.
    #[error("task {task}: {jobs} jobs wait at {at_ns} ns: its VCPU gets too little time")]
    Overload {
        /// Name of the task.
        task: String,
        /// Jobs that were released and are not complete.
        jobs: usize,
        /// Time.
        at_ns: u64,
    },
}
