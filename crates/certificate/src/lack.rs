//! Why a bound has no certificate.

/// The reason why a bound has no certificate.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Lack {
    /// The analysis has no bound.
    #[error("there is no bound")]
    NoBound,
    /// The bound is later than the deadline.
    #[error("the task can be late")]
    Late,
    /// The VCPU or others of its PCPU have critical sections.
    #[error("no theorem covers critical sections of several VCPUs yet")]
    Sections,
    /// The bound contains delays by memory accesses of other PCPUs.
    #[error("no theorem covers memory accesses of other PCPUs yet")]
    Memory,
    /// Rings release the task.
    #[error("rings release the task, and no theorem counts from them yet")]
    Triggered,
    /// Tasks of the VCPU have the same priority.
    #[error("the task has the same priority as others, and the theorems have an order of tasks")]
    SamePriority,
    /// Tasks with sections that nothing interrupts, where theorems are about preemptive tasks.
    #[error(
        "tasks block each other where one suspends itself or in the background, and the theorem \
         is about preemptive tasks"
    )]
    Blocking,
    /// A task suspends itself on a sporadic server.
    #[error(
        "the task suspends itself on a sporadic server, whose replenishments then come later than \
         the theorem about its supply says"
    )]
    SleepsOnSporadic,
    /// A task above suspends itself and evicts lines.
    #[error("task `{0}` above suspends itself and evicts lines each time that it continues")]
    EvictsAgain(String),
    /// A task above suspends itself and has no certificate.
    #[error("task `{0}` above suspends itself and has no certificate")]
    Depends(String),
    /// The windows that were found are longer than the bound.
    #[error("no windows were found that lead to the bound of {0} ns")]
    NotConfirmed(u64),
    /// There are too many jobs in a busy window.
    #[error("more than {} jobs are in its longest busy window", crate::windows::JOBS_MAX)]
    TooManyJobs,
}
