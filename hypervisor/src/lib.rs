//! Bulkhead's hypervisor: static partitioning and real-time sharing of one AArch64 multicore chip.
//!
//! The library holds everything that can be compiled and tested on a
//! development machine; `main.rs` adds the entry point of the EL2 image.

#![cfg_attr(target_os = "none", no_std)]

extern crate alloc;

pub mod console;
pub mod vdev;
