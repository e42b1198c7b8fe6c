//! Interrupts and ends of budgets at the same instant go where they belong.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod coincide;

rt::guest!(coincide::main);
