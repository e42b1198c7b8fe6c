//! The interface between the Bulkhead hypervisor, its guests and its tools.
//!
//! - [`bell`]: the page on which writers of channels ring, and the interrupt of readers;
//! - [`channel`]: the memory through which VMs exchange messages;
//! - [`console`]: labels, keys and sequences of the console, and how guest output looks there;
//! - [`counter`]: a counter of memory accesses that an observer of the machine keeps;
//! - [`doorbell`]: the page on which guests ask for colours without a call;
//! - [`guest`]: the address space of guests;
//! - [`hypercall`]: function identifiers, results and feature bits of the HVC interface;
//! - [`image`]: the layout of the one bootable image;
//! - [`kvm`]: what guests of Linux/KVM and the program that runs them agree on;
//! - [`limits`]: limits of plans;
//! - [`plan`]: the names in a plan's device tree;
//! - [`trace`]: the records that the hypervisor writes into its per-CPU rings.
//!
//! The crate has no dependencies, needs no allocator and contains only what several sides
//! use: numbers, layouts, and how output looks.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod bell;
pub mod channel;
pub mod console;
pub mod counter;
pub mod doorbell;
pub mod guest;
pub mod hypercall;
pub mod image;
pub mod kvm;
pub mod limits;
pub mod plan;
pub mod trace;
