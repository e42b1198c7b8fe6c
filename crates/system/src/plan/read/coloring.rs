//! Reads areas of coloured frames that are not RAM of a VM.

use abi::doorbell;
use abi::plan::names;
use policy::color::ColorSet;

use super::cursor::Cursor;
use crate::address::{PhysicalAddress, Region};
use crate::plan::{Area, Pool};

/// `hypervisor@...`: where it is loaded, and the area of its colours if it has some.
pub(super) fn hypervisor(at: &Cursor<'_>) -> Option<(Region<PhysicalAddress>, Option<Area>)> {
    let loaded = at.region(names::REG);
    at.named_after(loaded);
    let colored = at.optional(names::COLORS) || at.has(names::HOST_REG);
    let area = colored.then(|| area(at));
    at.finish();
    Some((loaded?, area.map_or(Some(None), |area| area.map(Some))?))
}

/// `coloring@...` of a VM.
pub(super) fn pool(at: &Cursor<'_>) -> Option<Pool> {
    at.word(names::COMPATIBLE, &[doorbell::COMPATIBLE]);
    let doorbell = at.region(names::REG);
    at.named_after(doorbell);
    let area = area(at);
    let frames = at.number(names::FRAMES);
    at.finish();
    Some(Pool { doorbell: doorbell?, area: area?, frames: frames? })
}

/// `colors` and `host-reg`.
fn area(at: &Cursor<'_>) -> Option<Area> {
    let (colors, region) = (at.long(names::COLORS), at.region(names::HOST_REG));
    Some(Area { colors: ColorSet::from_bits(colors?), region: region? })
}
