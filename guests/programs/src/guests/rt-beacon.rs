//! Prints a line in an exact rhythm, beside a guest that misbehaves.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod beacon;

rt::guest!(beacon::main);
