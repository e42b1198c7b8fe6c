//! Shows the caches as the guest sees them.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod cache;

rt::guest!(cache::main);
