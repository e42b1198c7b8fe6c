//! The bell of a VM: a page on which the VM *rings* for channels that it writes, and an interrupt that
//! tells the VM that somebody rang for a channel that it reads.
//!
//! A VM has a bell if one of its channels has rings. The device tree of the VM has a node `bell@...`
//! ([`COMPATIBLE`]) with the page as `reg` and, if the VM reads such a channel, the interrupt as
//! `interrupts`: rising edge, one for all channels. The node of a channel that the VM writes has the offset of its
//! [`register`] as [`RING`].
//!
//! A store of 32 or 64 bits to the register, of any value, rings: the interrupt of each reader
//! becomes pending, unless the limit of the channel is used up. Then the ring is *refused*: nobody is
//! interrupted. A load from the register tells how many rings were refused since the machine started,
//! modulo 2^32.

/// Value of `compatible` of the bell in the guest's device tree.
pub const COMPATIBLE: &str = "bulkhead,bell";

/// Property of a channel in the device tree of the VM that writes it: offset of the register in the page.
pub const RING: &str = "bulkhead,ring";

/// Returns the offset of the register of the channel with this index in the plan.
pub const fn register(channel: usize) -> u64 {
    8 * channel as u64
}
