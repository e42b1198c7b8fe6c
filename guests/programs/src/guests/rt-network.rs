//! Sends and receives frames through a network card.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod network;

rt::guest!(network::main);
