//! Sends and receives messages through channels.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod channel;

rt::guest!(channel::main);
