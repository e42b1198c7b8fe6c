//! What fires at the same instant goes where it belongs.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod coincide;

rt::guest!(coincide::main);
