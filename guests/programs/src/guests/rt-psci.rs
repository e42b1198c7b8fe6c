//! Tests PSCI and interrupts between two VCPUs.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod psci;

rt::guest!(psci::main);
