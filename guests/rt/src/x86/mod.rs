//! Everything that touches the machine of a guest of Linux/KVM: the only place with `unsafe` code beside the folder `arch`.
//! Modules that are called like those of that folder offer the same.

mod block;
pub mod cache;
pub mod call;
pub mod counter;
pub mod cpu;
mod start;

pub use block::{arguments, servers_start};
