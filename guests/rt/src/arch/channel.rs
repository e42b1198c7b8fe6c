//! The memory of channels as atomic words.

use core::sync::atomic::AtomicU64;

use abi::guest;
use abi::limits::{CHANNEL_BYTES_MAX, PAGE_BYTES};

/// Returns the words of the channel that the device tree puts at this address: whole pages below
/// RAM, where the map of a guest has devices, so that no line of a cache keeps them. A store to a
/// channel that the guest may only read is a data abort.
pub fn words(address: u64, bytes: u64) -> Option<&'static [AtomicU64]> {
    let end = address.checked_add(bytes)?;
    let whole = address.is_multiple_of(PAGE_BYTES) && bytes.is_multiple_of(PAGE_BYTES);
    if address == 0 || !whole || bytes > CHANNEL_BYTES_MAX || end > guest::RAM {
        return None;
    }
    // SAFETY: the range is mapped for good and holds nothing of Rust's but these words. If the
    // device tree is wrong, the accesses are aborts.
    let words =
        unsafe { core::slice::from_raw_parts(address as *const AtomicU64, (bytes / 8) as usize) };
    Some(words)
}
