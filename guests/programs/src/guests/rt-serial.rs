//! Sends and receives bytes through a serial line.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod serial;

rt::guest!(serial::main);
