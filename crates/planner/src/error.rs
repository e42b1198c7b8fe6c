//! Input that no planner can work with.

use analysis::TaskError;

/// The reason why a problem cannot be stated.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// More colours than a set of colours holds, or none.
    #[error("a cache has 1 to {most} colours, not {colors}")]
    Colors {
        /// The given number of colours.
        colors: usize,
        /// The most that can be.
        most: usize,
    },
    /// A grain of 0.
    #[error("budgets cannot be multiples of 0 ns")]
    NoGrain,
    /// More tasks than the search can tell apart.
    #[error("a VM can have {most} tasks here, not {tasks}")]
    Tasks {
        /// The given number of tasks.
        tasks: usize,
        /// The most that can be.
        most: usize,
    },
    /// A VM without VCPU.
    #[error("a VM needs a VCPU")]
    NoVcpu,
    /// A period of 0, or a budget that does not fit into it.
    #[error("the budget of VCPU {vcpu} has to be above 0 and to fit into its period")]
    Server {
        /// Its index in the VM.
        vcpu: usize,
    },
    /// A task that is pinned twice, or is not there.
    #[error("a task that is pinned to VCPU {vcpu} does not exist, or is pinned to another one")]
    Pinned {
        /// Its index in the VM.
        vcpu: usize,
    },
    /// Fixed colours that are not those of the tasks.
    #[error("each task of a VM with fixed colours needs some")]
    Fixed,
    /// No execution time at all.
    #[error("a task needs an execution time for 1 colour, 2 colours, ...")]
    NoWcet,
    /// Times that analyses cannot work with.
    #[error(transparent)]
    Task(#[from] TaskError),
}
