//! The reasons why a bound has no certificate.

/// The reason why a bound has no certificate.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Lack {
    /// The analysis has no bound.
    #[error("there is no bound")]
    NoBound,
    /// The bound is later than the deadline.
    #[error("the task can be late")]
    Late,
    /// The task suspends itself, and tasks below have critical sections.
    #[error(
        "the task suspends itself, and tasks below have critical sections, of which no theorem says \
         how often they begin then"
    )]
    Sections,
    /// The bound contains delays by memory accesses of other PCPUs, where theorems do not count these.
    #[error(
        "the task waits for memory accesses of other PCPUs, and it or one above suspends itself or it \
         is in the background, and no theorem covers that yet"
    )]
    Memory,
    /// The VCPU waits for its own budget of memory accesses.
    #[error(
        "the VCPU waits for a limit of its own memory accesses, and no theorem covers that yet"
    )]
    Throttled,
    /// Rings release the task.
    #[error("rings release the task, and no theorem counts from them yet")]
    Triggered,
    /// Tasks have the same priority, where theorems are about an order of tasks.
    #[error(
        "tasks have the same priority and one of them suspends itself, or they are in the background, \
         and the theorem there has an order of tasks"
    )]
    SamePriority,
    /// Tasks have the same priority and lines of the cache in common.
    #[error(
        "tasks with the same priority evict each other's lines, and nothing limits how often they \
         change"
    )]
    SameLines,
    /// A task with the same priority waits for longer.
    #[error("a task with the same priority has a longer `blocking`, which the task waits for, too")]
    SameBlocking,
    /// Sections of the task can hold off those above, where the theorem is not about that.
    #[error(
        "a task above has a longer `blocking`, so that a section of this one can hold it off, and the \
         theorem about the background does not count that"
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
