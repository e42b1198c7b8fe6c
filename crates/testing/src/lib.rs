//! Tools for the tests of several crates. No product code depends on this crate, which panics where a test is to fail.

#![forbid(unsafe_code)]

mod cases;
mod large;
#[cfg(feature = "naive")]
mod naive;
mod random;

#[cfg(feature = "sandbox")]
mod elf;
#[cfg(feature = "sandbox")]
pub mod files;
#[cfg(feature = "sandbox")]
mod sandbox;

pub use cases::cases;
pub use large::{Large, Open};
#[cfg(feature = "naive")]
pub use naive::NaiveCpu;
pub use random::Random;

#[cfg(feature = "sandbox")]
pub use elf::Elf;
#[cfg(feature = "sandbox")]
pub use sandbox::{Result, Sandbox, eventually, signal, terminal};
