//! When does a VCPU lose its CPU, and get it back?
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod switch;

rt::guest!(switch::main);
