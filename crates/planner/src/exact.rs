//! Optimal allocations, with proof: the returned one is the best of all.

pub mod cache_to_task;
pub mod cache_to_vm;
pub mod system;

pub use cache_to_task::cache_to_task;
pub use cache_to_vm::cache_to_vm;

/// The search was not over after as many steps as it may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "no optimum was proven within the steps that the search may take: allow more, or ask about a smaller system"
)]
pub struct Limit;
