//! Bulkhead's hypervisor: static partitioning and real-time sharing of one AArch64 multicore chip.
//!
//! The library holds everything that can be compiled and tested on a development machine; `main.rs`
//! adds the panic handler of the EL2 image. `ARCHITECTURE.md` has the rules that bind all modules.
//!
//! - [`arch`], [`board`]: the processor and the devices; all `unsafe` code;
//! - [`plan`], [`payload`], `digest`: the plan and the guest files, read and verified;
//! - `firmware`: compares the plan with the machine;
//! - `start`: from the entry code to running VMs; `address_space`: the memory that EL2 maps;
//! - `vm`: virtual machines: the parts of each, PSCI, start, stop and restart, crash reports;
//! - `machine`: the VMs and the console of the one machine;
//! - `pcpu`, [`scheduler`], [`timer`]: physical CPUs, the choice of their VCPUs, and their timers;
//! - `exits`: handlers for exceptions of guests; [`trapped`]: the instruction that trapped;
//!   [`features`]: the CPU features that guests see;
//! - [`stage1`]: the translation tables of guests, read without trust;
//! - [`vdev`]: virtual devices; [`console`]: one UART for all VMs;
//! - `locks`: critical sections of guests, and resources that VMs share;
//! - [`trace`]: the ring of events of each CPU; [`lock`]: locks between CPUs.

#![cfg_attr(target_os = "none", no_std)]
// Allowed for what touches the machine, and nowhere else.
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(target_os = "none")]
mod address_space;
#[allow(unsafe_code)]
pub mod arch;
#[allow(unsafe_code)]
pub mod board;
pub mod console;
mod digest;
#[cfg(target_os = "none")]
mod exits;
pub mod features;
#[cfg(target_os = "none")]
mod firmware;
pub mod lock;
#[cfg(target_os = "none")]
mod locks;
#[cfg(target_os = "none")]
mod machine;
pub mod payload;
#[cfg(target_os = "none")]
mod pcpu;
pub mod plan;
pub mod scheduler;
pub mod stage1;
#[cfg(target_os = "none")]
mod start;
pub mod timer;
pub mod trace;
pub mod trapped;
pub mod vdev;
#[cfg(target_os = "none")]
mod vm;

#[cfg(target_os = "none")]
pub use exits::panic_report;
