//! Everything that touches the machine: the only place with `unsafe` code.

pub mod bench;
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
mod mmu;
pub mod probe;
pub mod ram;
pub mod reading;
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
pub mod wild;

pub use fault::Fault;
pub use frame::Frame;
pub use mmu::{RAM_BASE, physical_address, take_free_ram};
pub use space::{AddressSpace, USER_BASE};
pub use stacks::CPUS_MAX;
