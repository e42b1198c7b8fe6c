//! Measures exits to a hypervisor.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod bench;

programs::measurement_guest!(bench::main);
