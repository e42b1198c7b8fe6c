//! Quantities as types, so that an address is never taken for a size, nor a
//! guest's address for one of the machine.

mod address;
mod duration;
mod frequency;
mod quantity;
mod rate;
mod size;

pub use address::{Address, IntId, Ipa, Mpidr, Pcpu, PhysicalAddress, Region};
pub use duration::Duration;
pub use frequency::Frequency;
pub use quantity::{Quantity, QuantityError, parse};
pub use rate::Rate;
pub use size::Bytes;
