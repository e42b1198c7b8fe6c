//! Executes what no guest should, by chance.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod torture;

rt::guest!(torture::main);
