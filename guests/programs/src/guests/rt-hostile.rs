//! Does its worst, one case at a time.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod hostile;

rt::guest!(hostile::main);
