//! Measures how fast memory is read, alone and beside others.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod chase;

rt::guest!(chase::main);
