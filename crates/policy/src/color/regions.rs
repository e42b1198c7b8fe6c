//! Places whole regions of guest memory in the colours of their VM.

use core::{error, fmt};

use super::cache::Bytes;
use super::demand::{Demand, Shortage};
use super::frames::{FrameAllocator, FreeError};
use super::geometry::{Geometry, UnknownColors};
use super::set::{COLORS_MAX, Color, ColorSet, Run};

/// Most runs that a set of colours can have.
const RUNS_MAX: usize = COLORS_MAX / 2;

/// A region of guest memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Region {
    /// Guest physical address of its first byte.
    pub ipa: u64,
    /// Bytes.
    pub bytes: u64,
    /// Colours in which it shall lie.
    pub colors: ColorSet,
}

impl Region {
    fn check(&self, geometry: Geometry) -> Result<(), RegionError> {
        let page = geometry.page_bytes();
        let whole = self.ipa.is_multiple_of(page) && self.bytes.is_multiple_of(page);
        if self.bytes == 0 || !whole || self.ipa.checked_add(self.bytes).is_none() {
            return Err(RegionError::Range);
        }
        if self.colors.is_empty() {
            return Err(RegionError::NoColors);
        }
        geometry.check(self.colors).map_err(RegionError::UnknownColors)
    }

    /// Bytes that lie in all colours once.
    fn cycle_bytes(&self, geometry: Geometry) -> u64 {
        u64::from(self.colors.len()) * geometry.color_bytes()
    }

    /// Returns the maps in their order, without their places: number of the run, run, bytes.
    fn pieces(self, geometry: Geometry) -> impl Iterator<Item = (usize, Run, u64)> {
        let mut rest = self.bytes;
        let runs = self.colors.runs().enumerate().cycle();
        runs.map_while(move |(i, run)| {
            let bytes = rest.min(u64::from(run.len) * geometry.color_bytes());
            rest -= bytes;
            (bytes > 0).then_some((i, run, bytes))
        })
    }
}

/// A part of a region that is contiguous in physical memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Map {
    /// Guest physical address of its first byte.
    pub ipa: u64,
    /// Physical address of its first byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The place of a page of a region.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Placement {
    /// Physical address of the frame.
    pub frame: u64,
    /// Colour of the frame, computed from its address: what maps the page can
    /// compare it with the colours that the page should have.
    pub color: Color,
}

/// A region, split into maps for which physical memory is reserved.
///
/// Each run of `x` contiguous colours gives maps of `x` times the colour size
/// `C`. The maps of all runs take turns, from the lowest colour on: a region of
/// `s` bytes with one run has `ceil(s / (x * C))` maps (XvIso section III-A).
/// The memory of each map is reserved first-fit, and a page keeps its position
/// in its map. Of the last map only what the region needs is reserved.
///
/// If the number of colours is a power of two and the region starts at a
/// multiple of (colours x colour size), this is also the placement that a
/// [`VirtualLlc`](super::VirtualLlc) needs.
#[derive(Debug)]
pub struct RegionMaps<'a> {
    // Private: `region` has been checked, has colours of `geometry` in `runs`
    // runs, and `areas` has the physical address of each of its maps.
    geometry: Geometry,
    region: Region,
    runs: usize,
    areas: &'a [u64],
}

impl<'a> RegionMaps<'a> {
    /// Returns the number of maps of `region`: the words of storage that [`RegionMaps::reserve`]
    /// needs. Time: number of runs.
    pub fn count(geometry: Geometry, region: &Region) -> Result<usize, RegionError> {
        region.check(geometry)?;
        let cycle = region.cycle_bytes(geometry);
        let rest = Region { bytes: region.bytes % cycle, ..*region };
        let whole = (region.bytes / cycle) as usize * region.colors.runs().count();
        Ok(whole + rest.pieces(geometry).count())
    }

    /// Returns the frames of each colour that `region` needs.
    pub fn demand(geometry: Geometry, region: &Region) -> Demand {
        let pages = region.bytes / geometry.page_bytes();
        Demand::in_units(region.colors, pages, geometry.unit_pages())
    }

    /// Reserves physical memory for `region`; if it fails, nothing is reserved.
    ///
    /// Time: the search for the next map of a run goes on where the last one
    /// was found, so that all searches together pass each place of the machine
    /// once per run, and look at no more pages there than a map has.
    pub fn reserve(
        region: Region,
        frames: &mut FrameAllocator<'_>,
        storage: &'a mut [u64],
    ) -> Result<Self, RegionError> {
        let geometry = frames.geometry();
        let needed = Self::count(geometry, &region)?;
        let given = storage.len();
        let areas = storage.get_mut(..needed).ok_or(RegionError::Storage { needed, given })?;
        if let Some(shortage) = frames.shortages(Self::demand(geometry, &region)).next() {
            return Err(RegionError::Shortage(shortage));
        }
        let mut from = [0; RUNS_MAX];
        for (map, (i, run, bytes)) in region.pieces(geometry).enumerate() {
            // The last map may be short, and fit where the others did not.
            let short = bytes < u64::from(run.len) * geometry.color_bytes();
            let start = if short { &mut 0 } else { &mut from[i] };
            match frames.allocate_area(run, bytes, start) {
                Some(address) => areas[map] = address,
                None => {
                    let undone = free_all(maps(geometry, region, &areas[..map]), frames);
                    debug_assert_eq!(undone, Ok(()), "these frames have just been allocated");
                    return Err(RegionError::Fragmented { map, maps: needed, run, bytes });
                }
            }
        }
        Ok(Self { geometry, region, runs: region.colors.runs().count(), areas })
    }

    /// Gives the memory back to `frames`, from which it was reserved. Time:
    /// number of pages of the region.
    pub fn release(self, frames: &mut FrameAllocator<'_>) -> Result<(), FreeError> {
        free_all(self.maps(), frames)
    }

    /// Returns the region.
    pub fn region(&self) -> Region {
        self.region
    }

    /// Returns the maps in the order of their guest physical addresses.
    pub fn maps(&self) -> impl Iterator<Item = Map> {
        maps(self.geometry, self.region, self.areas)
    }

    /// Returns the frame for the page in which `ipa` lies, or `None` if that is not in the region.
    /// Time: number of runs, at most 32.
    pub fn translate(&self, ipa: u64) -> Option<Placement> {
        let page = ipa & !(self.geometry.page_bytes() - 1);
        let offset = page.checked_sub(self.region.ipa).filter(|&at| at < self.region.bytes)?;
        let cycle = self.region.cycle_bytes(self.geometry);
        let mut map = (offset / cycle) as usize * self.runs;
        let mut within = offset % cycle;
        for run in self.region.colors.runs() {
            let bytes = u64::from(run.len) * self.geometry.color_bytes();
            if within < bytes {
                break;
            }
            within -= bytes;
            map += 1;
        }
        let frame = self.areas.get(map)? + within;
        Some(Placement { frame, color: self.geometry.color_of(frame) })
    }
}

/// Returns the first maps of `region`, as many as there are `areas`.
fn maps(geometry: Geometry, region: Region, areas: &[u64]) -> impl Iterator<Item = Map> {
    let mut ipa = region.ipa;
    region.pieces(geometry).zip(areas).map(move |((_, _, bytes), &address)| {
        let map = Map { ipa, address, bytes };
        ipa += bytes;
        map
    })
}

fn free_all(
    maps: impl Iterator<Item = Map>,
    frames: &mut FrameAllocator<'_>,
) -> Result<(), FreeError> {
    let page = frames.geometry().page_bytes() as usize;
    for map in maps {
        for frame in (map.address..map.address + map.bytes).step_by(page) {
            frames.free(frame)?;
        }
    }
    Ok(())
}

/// The reason why a region cannot be placed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RegionError {
    /// The region is empty, does not consist of whole pages, or wraps around.
    Range,
    /// The region has no colours.
    NoColors,
    /// The cache does not have these colours of the region.
    UnknownColors(UnknownColors),
    /// The storage is too small.
    Storage {
        /// Words that are needed.
        needed: usize,
        /// Words that were given.
        given: usize,
    },
    /// Too few frames of a colour are free; [`FrameAllocator::shortages`] knows
    /// all such colours.
    Shortage(Shortage),
    /// There are enough free frames of each colour, but for this map they do
    /// not lie side by side.
    Fragmented {
        /// Number of the map, from 0.
        map: usize,
        /// Maps of the region.
        maps: usize,
        /// Its colours.
        run: Run,
        /// Its bytes.
        bytes: u64,
    },
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range => f.write_str("the region is empty, not in whole pages, or wraps around"),
            Self::NoColors => f.write_str("the region has no colours"),
            Self::UnknownColors(error) => error.fmt(f),
            Self::Storage { needed, given } => {
                write!(f, "the region needs {needed} words of storage, only {given} are given")
            }
            Self::Shortage(shortage) => shortage.fmt(f),
            Self::Fragmented { map, maps, run, bytes } => write!(
                f,
                "no {} contiguous in the colours {run} for map {} of {maps}: there are enough free \
                 frames, but not side by side; place this region first, or give it colours that \
                 are not contiguous",
                Bytes(*bytes),
                map + 1
            ),
        }
    }
}

impl error::Error for RegionError {}
