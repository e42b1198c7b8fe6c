//! Bulkhead's hypervisor: static partitioning and real-time sharing of one AArch64 multicore chip.
//!
//! The library holds everything that can be compiled and tested on a
//! development machine; `main.rs` adds the panic handler of the EL2 image.
//!
//! - [`arch`], [`board`]: processor and devices; all `unsafe` code;
//! - [`plan`], [`payload`], `digest`: what is to run, read and verified;
//! - `start`: from the entry code to running VMs; `address_space`: what EL2 maps;
//! - `vm`, `pcpu`, [`scheduler`], [`timer`]: virtual machines, and the CPUs that run them;
//! - `exits`: what happens when a guest comes to EL2; [`trapped`]: the instruction
//!   that brought it there; [`features`]: what it sees of its CPU;
//! - [`stage1`]: the translation tables of guests, read;
//! - [`vdev`], [`console`]: virtual devices;
//! - `locks`: critical sections of guests, and resources that VMs share;
//! - [`trace`]: what happened last; [`lock`]: locks between CPUs.

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
