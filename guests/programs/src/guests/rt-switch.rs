//! The times at which a VCPU loses its CPU, and gets it back.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod switch;

rt::guest!(switch::main);
