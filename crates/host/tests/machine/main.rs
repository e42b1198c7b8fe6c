//! VMs of a few instructions under servers, on the KVM of this machine. Where there is none, the tests say so and pass.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod budgets;
mod code;
mod colors;
mod ends;
mod limits;
mod locks;
mod marks;
mod records;
mod restarts;
mod starts;
mod text;
mod vms;
