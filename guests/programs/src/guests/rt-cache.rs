//! Shows the caches as the guest sees them.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
#[cfg_attr(target_arch = "x86_64", path = "cpuid.rs")]
mod cache;

rt::guest!(cache::main);
