//! A small real-time library for guests at AArch64 EL1, and for guests of Linux/KVM on x86-64.
//!
//! The machine is laid out like QEMU's `virt` board with GICv3; guests run on Bulkhead and on bare
//! QEMU. What needs no machine (task sets, statistics, time, boot arguments) is compiled and tested
//! on the host, the rest only for `target_os = "none"`.
//!
//! On x86-64 (the folder `x86`) there are no interrupts and no devices: a guest asks for the time, and calls
//! ([`abi::kvm`]). What needs more is there on AArch64 only.
//!
//! A guest is a program with [`guest!`]. Those of examples and tests are in another package, `guests/programs`.

#![cfg_attr(target_os = "none", no_std)]
// Allowed for what touches the machine, and nowhere else.
#![deny(unsafe_code)]

#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod bell;
pub mod bootargs;
pub mod cache;
pub mod channel;
#[cfg(not(all(target_os = "none", target_arch = "x86_64")))]
pub mod coloring;
pub mod polled;
pub mod program;
pub mod random;
pub mod statistics;
pub mod taskset;
pub mod time;

#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod alarm;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
#[allow(unsafe_code)]
pub mod arch;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod arguments;
#[cfg(target_os = "none")]
pub mod console;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod doorbell;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod gic;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod hypercall;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod interrupts;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod mutexes;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod network;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod psci;
#[cfg(target_os = "none")]
pub mod records;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod rhythm;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod round_robin;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod scheduler;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod sections;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod serial;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod sleep;
#[cfg(target_os = "none")]
pub mod wait;

#[cfg(all(target_os = "none", target_arch = "x86_64"))]
#[allow(unsafe_code)]
#[path = "x86/mod.rs"]
pub mod arch;
#[cfg(all(target_os = "none", target_arch = "x86_64"))]
#[path = "x86/arguments.rs"]
pub mod arguments;

/// Makes a binary out of a function without arguments, the guest's `main`. On the host, the binary
/// only says what it is.
#[cfg(not(target_os = "none"))]
#[macro_export]
macro_rules! guest {
    ($main:path) => {
        fn main() {
            eprintln!("This is a guest: `cargo xtask build guests` builds it for the machine that it runs on.");
            std::process::exit(2);
        }
    };
}
