//! The simulator's input (`crates/sim`), made from a plan, its description, and assumptions about
//! facts that neither of them contains.

#![forbid(unsafe_code)]

mod assumptions;
mod locks;
mod memory;
mod model;
mod rings;

pub use assumptions::{Assume, Assumptions, Contention, Execution};
pub use memory::Accesses;
pub use model::{Load, Model, Task, Vcpu};
