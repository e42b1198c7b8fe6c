//! Addresses and sizes as a platform file has them.

use crate::tree::Region;

/// Returns registers or memory, with their size.
pub fn region(region: &Region) -> String {
    format!("start = {:#x}, size = {}", region.start, size(region.size))
}

/// A number of bytes.
pub fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.iter().find(|(bits, _)| bytes > 0 && bytes.trailing_zeros() >= *bits);
    unit.map_or(format!("\"{bytes}B\""), |(bits, unit)| format!("\"{}{unit}\"", bytes >> bits))
}
