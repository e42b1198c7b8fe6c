//! RAM of VMs and of the hypervisor, and the colours that it can have.

use policy::color::{ColorSet, Geometry};
use units::Bytes;

use crate::address::{Ipa, PhysicalAddress, Region};
use crate::plan::PAGE;

/// The last-level cache of the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Llc {
    /// Its colours, in pages of 4 KiB.
    pub geometry: Geometry,
    /// True if the cache registers of the CPUs describe it. Those of system-level caches often do
    /// not.
    pub in_registers: bool,
}

/// A part of the machine of which one owner has the frames of some colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Area {
    /// The colours.
    pub colors: ColorSet,
    /// The region of the part.
    pub region: Region<PhysicalAddress>,
}

/// Frames of the machine that have one owner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frames {
    /// The region.
    pub region: Region<PhysicalAddress>,
    /// Their colours; without any, these are all frames of the region.
    pub colors: Option<ColorSet>,
}

impl Frames {
    /// Returns true if the colours differ, so that no frame belongs to both areas, wherever they
    /// are.
    pub fn is_apart_by_colors(&self, other: &Self) -> bool {
        self.colors.zip(other.colors).is_some_and(|(a, b)| a.is_disjoint(b))
    }

    /// Returns true if a frame of the machine can belong to both.
    pub fn overlap(&self, other: &Self) -> bool {
        !self.is_apart_by_colors(other) && self.region.overlaps(&other.region)
    }
}

impl From<Area> for Frames {
    fn from(Area { colors, region }: Area) -> Self {
        Self { region, colors: Some(colors) }
    }
}

/// A region of RAM of a VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Memory {
    /// Address in the VM.
    pub ipa: Ipa,
    /// Number of bytes that the VM sees.
    pub size: Bytes,
    /// Start in the machine.
    pub host: PhysicalAddress,
    /// The part of the cache that the RAM uses; without one, the bytes in the machine are
    /// contiguous.
    pub coloring: Option<Coloring>,
}

/// Colours of RAM, and the area of the machine that its frames are in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Coloring {
    /// The colours.
    pub colors: ColorSet,
    /// Bytes of the area. Its frames of the colours are the RAM, in ascending
    /// order; those that are left over hold what the hypervisor keeps for the VM.
    pub area: Bytes,
}

impl Memory {
    /// Returns the region as the VM sees it.
    pub fn ipa_region(&self) -> Region<Ipa> {
        Region { start: self.ipa, size: self.size }
    }

    /// Returns the region of the machine: RAM, or the area that the RAM is in.
    pub fn host_region(&self) -> Region<PhysicalAddress> {
        Region { start: self.host, size: self.coloring.map_or(self.size, |it| it.area) }
    }

    /// Returns the colours, if it has some.
    pub fn colors(&self) -> Option<ColorSet> {
        self.coloring.map(|coloring| coloring.colors)
    }

    /// Returns the frames that it takes.
    pub fn frames(&self) -> Frames {
        Frames { region: self.host_region(), colors: self.colors() }
    }
}

/// vColoring of a VM (vCache, section 4.2): frames of extra colours, which its
/// tasks get in exchange for those of its RAM when they ask.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pool {
    /// The page on which programs of the guest ask.
    pub doorbell: Region<Ipa>,
    /// The extra colours, and the area of their frames.
    pub area: Area,
    /// Number of frames: the first ones of these colours in the area.
    pub frames: u32,
}

impl Pool {
    /// Bytes of the frames.
    pub fn size(&self) -> Bytes {
        Bytes(u64::from(self.frames) * PAGE.0)
    }
}
