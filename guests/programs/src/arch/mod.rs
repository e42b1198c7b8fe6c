//! Everything that touches the machine beside the library: the only place with `unsafe` code.

pub mod bench;
pub mod probe;
pub mod reading;
pub mod wild;
