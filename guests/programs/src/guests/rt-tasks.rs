//! Runs the tasks with critical sections that its boot arguments describe.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
#[cfg_attr(target_arch = "x86_64", path = "polled.rs")]
mod tasks;

rt::guest!(tasks::main);
