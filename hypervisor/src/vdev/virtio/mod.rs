//! A network card as VIRTIO 1.2 describes it: a device of type 1 behind registers in memory (section 4.2, version 2), with one
//! split ring (section 2.7) for frames that the guest receives and one for those that it transmits, and no offloads.
//!
//! - [`card`]: the registers;
//! - [`queue`]: a ring, and the buffers in it;
//! - [`wire`]: which frames go from one card to the other.
//!
//! Rings and buffers are memory of a guest, which may hold anything and change at any time. So whatever is in them: each word
//! is read once, each walk ends, and nothing is accessed but by [`Memory`], which refuses what is not RAM of the VM. What
//! a correct driver does not do breaks the card of that guest until its driver resets it.

pub mod card;
pub mod queue;
pub mod wire;

#[cfg(test)]
mod tests;

/// The RAM of a VM, as a device of it accesses it.
pub trait Memory {
    /// Copies bytes out of RAM. Returns false, and may have copied a part, if not all of them lie there.
    fn load(&self, address: u64, data: &mut [u8]) -> bool;

    /// Copies bytes into RAM. Returns false, and may have copied a part, if not all of them lie there.
    fn store(&self, address: u64, data: &[u8]) -> bool;

    /// Returns the 16 bits at an even address, read at once; `None` if no RAM is there.
    fn load_u16(&self, address: u64) -> Option<u16>;

    /// Stores 16 bits at an even address, at once. Returns false if no RAM is there.
    fn store_u16(&self, address: u64, value: u16) -> bool;
}
