//! Reads `[[cache]]`.

use policy::color::{self, IndexBits};
use units::Bytes;

use super::all;
use crate::diagnostic::{Diagnostic, Place};
use crate::document::Fields;
use crate::platform::{Cache, CacheKind};

/// Returns the caches, those nearest to the CPU first.
pub(super) fn read(at: &Fields<'_>) -> Option<Vec<Cache>> {
    let read = all(&at.tables("cache", "[[cache]]"), cache)?;
    let l1 = read.iter().map(|(cache, _)| cache).find(|cache| cache.is_first_data());
    let l1 = l1.map(|cache| IndexBits::AboveL1(cache.shape));
    let mut caches = Vec::new();
    for (mut cache, above_l1) in read {
        match (above_l1, l1) {
            (None, _) => {}
            (Some(_), Some(bits)) => cache.color_bits = bits,
            (Some(place), None) => {
                let message = "the platform has no first-level data cache";
                let help = "add a `[[cache]]` with `level = 1` and `kind = \"data\"`";
                let mistake = Diagnostic::new("missing-key", message);
                at.add(mistake.at(&place, "needs its set index").help(help));
                return None;
            }
        }
        caches.push(cache);
    }
    caches.sort_by_key(|cache| cache.level);
    Some(caches)
}

/// Returns a cache, and the place that says that its colours are the bits above the index of the
/// first level.
fn cache(at: &Fields<'_>) -> Option<(Cache, Option<Place>)> {
    let level = at.required("level", at.integer("level", 1, 7), "2");
    let kind = at.required("kind", at.choice("kind", &CacheKind::ALL), "\"unified\"");
    let size = at.required("size", at.quantity::<Bytes>("size"), "\"1MiB\"");
    let ways = at.required("ways", at.integer("ways", 1, 1024), "16");
    let line = at.required("line", at.quantity::<Bytes>("line"), "\"64B\"");
    let slices = at.integer("slices", 1, 64);
    let shared_by = at.integer("shared_by", 1, 64);
    let above_l1 = at.choice("color_bits", &[("above-page", false), ("above-l1", true)]);
    let in_registers = at.boolean("in_registers");
    at.finish();
    let (size, ways, line) = (size?, ways?.value as u32, line?);
    let slices = slices.map_or(1, |slices| slices.value as u32);
    // What does not fit becomes a number that is refused as well.
    let line_bytes = u32::try_from(line.value.0).unwrap_or(u32::MAX);
    let shape = color::Cache::sliced(size.value.0, ways, line_bytes, slices);
    if let Err(error) = shape {
        let help = "size / (ways * line * slices) and line must be powers of two";
        let mistake = Diagnostic::new("wrong-value", error.to_string());
        at.add(mistake.at(&size.place, "of this cache").help(help));
    }
    let cache = Cache {
        level: level?.value,
        kind: kind?.value,
        shape: shape.ok()?,
        shared_by: shared_by.map_or(1, |cpus| cpus.value),
        color_bits: IndexBits::AbovePage,
        in_registers: in_registers.unwrap_or(true),
    };
    Some((cache, above_l1.filter(|above| above.value).map(|above| above.place)))
}
