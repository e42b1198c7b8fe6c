//! Interrupts at random: is any lost?
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod races;

rt::guest!(races::main);
