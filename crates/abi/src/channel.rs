//! The memory of a channel, through which one VM passes messages to others.
//!
//! A channel is a region of memory that one VM writes and others read. Stage 2 makes it
//! non-cacheable for all of them, so that what is written is there for all, whatever attributes a
//! guest uses, and takes no line of a cache that others use. The device tree of each of these VMs
//! has a node `channel@...` ([`COMPATIBLE`]) with the region as `reg`, its name as `label`, and
//! [`WRITES`] at the writer.
//!
//! The content of the memory is up to the guests. This is the layout that the libraries of this
//! repository use: words of 64 bits, little-endian, a header and behind it *slots* of equal size
//! for the last messages. Message `n`, counted from 1, is in slot `(n - 1) % slots`.
//!
//! The writer puts 0 into [`NUMBER`] of the slot; behind a barrier the message and `n` into the
//! slot; and behind another barrier `n` into [`NEWEST`]. A reader loads [`NEWEST`], then behind a barrier
//! a message up to that one, and then, behind another barrier, [`NUMBER`] of its slot: if that is
//! the message's, it has the whole message. So neither ever waits for the other.
//!
//! Numbers always go on. While the writer opens the channel, [`EPOCH`] is odd, with a barrier behind;
//! it is even, with a barrier before, when all else is in place. A reader that finds the same even
//! number before and after a message has read nothing of another opening. If the size of messages
//! changes, the writer clears all slots, and [`BASE`] becomes the number of the last message of another size.

/// Value of `compatible` of a channel in the guest's device tree.
pub const COMPATIBLE: &str = "bulkhead,channel";

/// Property of a channel in the device tree of the VM that writes it: empty.
pub const WRITES: &str = "bulkhead,writes";

/// Offset of [`MAGIC_VALUE`], which the writer puts there when it opens the channel for the first time.
pub const MAGIC: usize = 0x00;

/// Offset of the number of bytes of a message.
pub const SIZE: usize = 0x08;

/// Offset of a number that grows by 2 each time that the writer opens the channel, and is odd meanwhile.
pub const EPOCH: usize = 0x10;

/// Offset of the number of the newest complete message; 0: there is none.
pub const NEWEST: usize = 0x18;

/// Offset of the number of the last message of another size: it and those before are gone.
pub const BASE: usize = 0x20;

/// Offset of the first slot.
pub const SLOTS: usize = 0x40;

/// Offset in a slot of the number of its message; 0: it is being written.
pub const NUMBER: usize = 0x00;

/// Offset in a slot of its message.
pub const MESSAGE: usize = 0x08;

/// "CHANNEL1", the first letter in the lowest byte.
pub const MAGIC_VALUE: u64 = u64::from_le_bytes(*b"CHANNEL1");

/// Returns the bytes of a slot for messages of `size` bytes.
pub const fn slot_bytes(size: usize) -> usize {
    MESSAGE + size.next_multiple_of(8)
}

/// Returns how many slots for messages of `size` bytes there are in a channel of `bytes` bytes.
pub const fn slots(bytes: usize, size: usize) -> usize {
    bytes.saturating_sub(SLOTS) / slot_bytes(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_lies_before_the_slots() {
        let header = [MAGIC, SIZE, EPOCH, NEWEST, BASE, SLOTS];
        assert!(header.is_sorted_by(|a, b| a + 8 <= *b));
        assert!(header.iter().all(|offset| offset % 8 == 0));
    }

    #[test]
    fn slots_fill_the_channel_and_no_more() {
        assert_eq!((slot_bytes(1), slot_bytes(8), slot_bytes(9)), (16, 16, 24));
        assert_eq!(slots(4096, 8), (4096 - 64) / 16);
        assert_eq!((slots(4096, 4096 - 64 - 8), slots(4096, 4096 - 64)), (1, 0));
        assert_eq!(slots(0, 8), 0);
    }
}
