//! Checks requests for colours.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod color;

rt::guest!(color::main);
