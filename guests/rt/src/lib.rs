//! A small real-time library for guests at AArch64 EL1.
//!
//! The machine is laid out like QEMU's `virt` board with GICv3; guests run on Bulkhead and on bare
//! QEMU. What needs no machine (task sets, statistics, time, boot arguments) is compiled and tested
//! on the host, the rest only for `target_os = "none"`.
//!
//! A guest is a program with [`guest!`]. The test guests are programs of this package, which use the library as any other
//! guest does: `src/guests/rt-NAME.rs` is the program, and its module `NAME` does the work.

#![cfg_attr(target_os = "none", no_std)]
// Allowed for what touches the machine, and nowhere else.
#![deny(unsafe_code)]

pub mod bootargs;
pub mod cache;
pub mod coincidence;
pub mod coloring;
pub mod leeches;
pub mod permutation;
pub mod program;
pub mod random;
pub mod statistics;
pub mod sweep;
pub mod taskset;
pub mod time;
pub mod wild;

#[cfg(target_os = "none")]
pub mod alarm;
#[cfg(target_os = "none")]
#[allow(unsafe_code)]
pub mod arch;
#[cfg(target_os = "none")]
pub mod arguments;
#[cfg(target_os = "none")]
pub mod checks;
#[cfg(target_os = "none")]
pub mod console;
#[cfg(target_os = "none")]
pub mod doorbell;
#[cfg(target_os = "none")]
pub mod gic;
#[cfg(target_os = "none")]
pub mod hypercall;
#[cfg(target_os = "none")]
pub mod interrupts;
#[cfg(target_os = "none")]
pub mod mutexes;
#[cfg(target_os = "none")]
pub mod psci;
#[cfg(target_os = "none")]
pub mod records;
#[cfg(target_os = "none")]
pub mod rhythm;
#[cfg(target_os = "none")]
pub mod round_robin;
#[cfg(target_os = "none")]
pub mod scheduler;
#[cfg(target_os = "none")]
pub mod sections;
#[cfg(target_os = "none")]
pub mod sleep;
#[cfg(target_os = "none")]
pub mod wait;

/// Makes a binary out of a function without arguments, the guest's `main`. On the host, the binary
/// only says what it is.
#[cfg(not(target_os = "none"))]
#[macro_export]
macro_rules! guest {
    ($main:path) => {
        fn main() {
            eprintln!("This is a guest: build it for aarch64-unknown-none-softfloat.");
            std::process::exit(2);
        }
    };
}

/// As [`guest!`], for the guest that measures exits.
#[cfg(not(target_os = "none"))]
#[macro_export]
macro_rules! measurement_guest {
    ($main:path) => {
        $crate::guest!($main);
    };
}
