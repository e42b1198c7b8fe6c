//! Takes a resource from others.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod leech;

rt::guest!(leech::main);
