//! Checks requests for colours.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
#[cfg_attr(target_arch = "x86_64", path = "color/polled.rs")]
mod color;

rt::guest!(color::main);
