//! The parts that guests of examples and tests share. `src/guests/rt-NAME.rs` is a program, and its module `NAME` does the work,
//! with the library [`rt`] as any other guest does.

#![cfg_attr(target_os = "none", no_std)]
// Allowed for what touches the machine, and nowhere else.
#![deny(unsafe_code)]

pub mod coincidence;
pub mod leeches;
pub mod permutation;
pub mod sweep;
pub mod wild;

#[cfg(all(target_os = "none", target_arch = "aarch64"))]
#[allow(unsafe_code)]
pub mod arch;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
pub mod checks;

/// The same as [`rt::guest!`], for the guest that measures exits.
#[cfg(not(target_os = "none"))]
#[macro_export]
macro_rules! measurement_guest {
    ($main:path) => {
        ::rt::guest!($main);
    };
}
