//! Three periodic tasks and their response times.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod demo;

rt::guest!(demo::main);
