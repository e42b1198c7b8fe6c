//! Are timer interrupts exact in deterministic time?
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod periods;

rt::guest!(periods::main);
