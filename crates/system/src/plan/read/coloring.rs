//! Reads areas of coloured frames that are not RAM of a VM.

use policy::color::ColorSet;

use super::cursor::Cursor;
use crate::address::{PhysicalAddress, Region};
use crate::plan::{Area, Pool};

/// `hypervisor@...`: where it is loaded, and the area of its colours if it has some.
pub(super) fn hypervisor(at: &Cursor<'_>) -> Option<(Region<PhysicalAddress>, Option<Area>)> {
    let loaded = at.region("reg");
    at.named_after(loaded);
    let colored = at.optional("colors") || at.has("host-reg");
    let area = colored.then(|| area(at));
    at.finish();
    Some((loaded?, area.map_or(Some(None), |area| area.map(Some))?))
}

/// `coloring@...` of a VM.
pub(super) fn pool(at: &Cursor<'_>) -> Option<Pool> {
    at.word("compatible", &["bulkhead,coloring"]);
    let doorbell = at.region("reg");
    at.named_after(doorbell);
    let area = area(at);
    let frames = at.number("frames");
    at.finish();
    Some(Pool { doorbell: doorbell?, area: area?, frames: frames? })
}

/// `colors` and `host-reg`.
fn area(at: &Cursor<'_>) -> Option<Area> {
    let (colors, region) = (at.long("colors"), at.region("host-reg"));
    Some(Area { colors: ColorSet::from_bits(colors?), region: region? })
}
