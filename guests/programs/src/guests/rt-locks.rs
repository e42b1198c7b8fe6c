//! Shares a resource with other VMs, or measures what that costs.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod locks;

rt::guest!(locks::main);
