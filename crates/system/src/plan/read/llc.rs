//! Reads the last-level cache.

use abi::plan::names;
use policy::color::{Cache, Geometry, IndexBits, Stripe};

use super::cursor::Cursor;
use crate::plan::{Llc, PAGE};

pub(super) fn read(at: &Cursor<'_>) -> Option<Llc> {
    let size = at.number(names::CACHE_SIZE);
    let ways = at.number(names::WAYS);
    let line = at.number(names::LINE_SIZE);
    let slices = at.number(names::SLICES);
    let mask = at.long(names::COLOR_MASK);
    let in_registers = !at.flag(names::NOT_IN_REGISTERS);
    at.finish();
    let cache = match Cache::sliced(size?.into(), ways?, line?, slices?) {
        Ok(cache) => cache,
        Err(error) => {
            at.wrong(names::CACHE_SIZE, error.to_string(), "give the numbers of one cache");
            return None;
        }
    };
    let geometry = with_mask(cache, mask?);
    if geometry.is_none() {
        let message = format!("{:#x} are not bits that can be colours of {cache}", mask?);
        let last = cache.way_bytes() / 2;
        let help = format!(
            "give contiguous bits above the page offset (bit 12 and up) that end at the highest \
             bit of the set index ({last:#x})"
        );
        at.wrong(names::COLOR_MASK, message, &help);
    }
    Some(Llc { geometry: geometry?, in_registers })
}

/// Returns the colours that are these address bits. The lowest is as high as a cache of one way
/// below it would make it.
fn with_mask(cache: Cache, mask: u64) -> Option<Geometry> {
    let below = Cache::new(mask & mask.wrapping_neg(), 1, cache.line_bytes()).ok()?;
    let geometry = Geometry::new(cache, PAGE.0, IndexBits::AboveL1(below)).ok()?;
    Stripe::new(PAGE.0, mask, geometry.all(), 0).ok()?;
    (geometry.mask() == mask).then_some(geometry)
}
