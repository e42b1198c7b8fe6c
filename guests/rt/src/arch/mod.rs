//! Everything that touches the machine: the only place with `unsafe` code.

pub mod cache;
pub mod channel;
pub mod counter;
pub mod cpu;
mod exceptions;
mod fault;
mod frame;
pub mod gic_cpu;
mod layout;
pub mod lock;
pub mod mmio;
pub mod mmu;
pub mod ram;
pub mod secondary;
pub mod service;
pub mod smccc;
mod space;
mod stacks;
mod start;
pub mod stolen;
mod sysreg;
pub mod tables;
pub mod task;
pub mod user;

pub use fault::{Fault, catch};
pub use frame::Frame;
pub use layout::owns;
pub use mmu::{RAM_BASE, physical_address, take_free_ram};
pub use space::{AddressSpace, USER_BASE};
pub use stacks::CPUS_MAX;
