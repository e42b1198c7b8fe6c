//! What is simulated of a described system: a plan, the description that it was made from, and
//! assumptions about what neither of them says, as a system for `crates/sim`.

#![forbid(unsafe_code)]

mod assumptions;
mod locks;
mod memory;
mod model;

pub use assumptions::{Assume, Assumptions, Contention, Execution};
pub use memory::Accesses;
pub use model::{Load, Model, Task, Vcpu};
