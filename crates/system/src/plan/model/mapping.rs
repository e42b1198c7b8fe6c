//! Memory and registers that a VM sees, with their addresses.

use units::Bytes;

use crate::address::{Ipa, PhysicalAddress, Region};

/// A part of the address space of a VM and the memory or registers behind it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mapping {
    /// Address in the VM.
    pub ipa: Ipa,
    /// Address in the machine.
    pub host: PhysicalAddress,
    /// Number of bytes.
    pub size: Bytes,
}

impl Mapping {
    /// Returns the region as the VM sees it.
    pub fn ipa_region(&self) -> Region<Ipa> {
        Region { start: self.ipa, size: self.size }
    }

    /// Returns the region of the machine.
    pub fn host_region(&self) -> Region<PhysicalAddress> {
        Region { start: self.host, size: self.size }
    }
}
