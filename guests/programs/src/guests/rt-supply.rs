//! The processor time that a VCPU gets.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod supply;

rt::guest!(supply::main);
