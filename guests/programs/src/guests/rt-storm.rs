//! Makes the hypervisor work, as often as it can.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod storm;

rt::guest!(storm::main);
