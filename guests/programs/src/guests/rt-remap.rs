//! Measures what first touches and requests for colours cost.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod remap;

rt::guest!(remap::main);
