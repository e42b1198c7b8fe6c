//! Takes all the processor time that it can get.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod busy;

rt::guest!(busy::main);
