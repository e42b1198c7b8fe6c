//! Allocates the frames of a machine by colour.

use core::ops::Range;
use core::{error, fmt};

use super::bitmap::Bitmap;
use super::demand::{Demand, Shortage};
use super::geometry::Geometry;
use super::layout::{Layout, RamError};
use super::set::{COLORS_MAX, Color, ColorSet, Run};

/// The free frames of a machine, one page each.
///
/// It allocates the first free frame of a colour, in the order of the banks and of the addresses in
/// them. In what follows *B* is the number of banks and *R* that of reserved ranges. A frame is
/// allocated or freed in time O(B + R) and at most 12 reads and 6 writes of storage, however large
/// the machine is.
#[derive(Debug)]
pub struct FrameAllocator<'a> {
    layout: Layout<'a>,
    reserved: &'a [Range<u64>],
    // Private: a slot is in `free` if and only if its frame exists, is not
    // reserved and has not been given out; the two others count what is in it.
    free: Bitmap<'a>,
    free_of: [u32; COLORS_MAX],
    available: ColorSet,
}

impl<'a> FrameAllocator<'a> {
    /// Returns the words of storage that [`FrameAllocator::new`] needs for these banks: little more
    /// than one bit per frame.
    pub fn storage_words(geometry: Geometry, ram: &[Range<u64>]) -> Result<usize, RamError> {
        Ok(Bitmap::words(Layout::new(geometry, ram)?.slots()))
    }

    /// Returns all frames of the banks `ram`, except those that `reserved` touches with one byte or
    /// more.
    ///
    /// The banks must be page-aligned and must not overlap; `reserved` may overlap and may lie
    /// outside the RAM. The contents of `storage` do not matter. Time: O(words of storage + B² +
    /// colours x B² x R).
    pub fn new(
        geometry: Geometry,
        ram: &'a [Range<u64>],
        reserved: &'a [Range<u64>],
        storage: &'a mut [u64],
    ) -> Result<Self, RamError> {
        let layout = Layout::new(geometry, ram)?;
        let given = storage.len();
        let error = RamError::Storage { needed: Bitmap::words(layout.slots()), given };
        let mut free = Bitmap::new(layout.slots(), storage).ok_or(error)?;
        let mut free_of = [0; COLORS_MAX];
        for color in geometry.all().iter() {
            let count = &mut free_of[color.index()];
            for bank in ram {
                let slots = layout.slots_in(bank, color);
                *count += slots.len() as u32;
                free.insert_all(slots);
                for range in reserved {
                    let frames = touched(range, bank, geometry.page_bytes());
                    if !frames.is_empty() {
                        *count -= free.remove_all(layout.slots_in(&frames, color));
                    }
                }
            }
        }
        let available = geometry.all().iter().filter(|color| free_of[color.index()] > 0).collect();
        Ok(Self { layout, reserved, free, free_of, available })
    }

    /// Returns the colours of the machine.
    pub fn geometry(&self) -> Geometry {
        self.layout.geometry()
    }

    /// Returns the number of free frames of `color`. Constant time.
    pub fn free_of(&self, color: Color) -> u64 {
        u64::from(self.free_of[color.index()])
    }

    /// Returns the colours of which fewer frames are free than `demand` needs. Time: number of
    /// colours.
    pub fn shortages(&self, demand: Demand) -> impl Iterator<Item = Shortage> {
        demand.colors().iter().filter_map(move |color| {
            let (needed, free) = (demand.of(color), self.free_of(color));
            (free < needed).then_some(Shortage { color, needed, free })
        })
    }

    /// Takes a frame of `color`; returns its physical address. Time: O(B).
    pub fn allocate(&mut self, color: Color) -> Result<u64, OutOfFrames> {
        let slots = self.layout.slots_of(color);
        match self.free.next(slots.start).filter(|&slot| slot < slots.end) {
            Some(slot) => {
                self.take(slot, color);
                Ok(self.layout.address_of(slot))
            }
            None => Err(OutOfFrames(color.into())),
        }
    }

    /// Takes a frame of the next colour of `rotation` that has one; returns its
    /// physical address. Time: O(B).
    pub fn allocate_next(&mut self, rotation: &mut Rotation) -> Result<u64, OutOfFrames> {
        let color = (rotation.colors & self.available)
            .next_around(rotation.next)
            .ok_or(OutOfFrames(rotation.colors))?;
        let frame = self.allocate(color)?;
        rotation.next = Color((color.0 + 1) % COLORS_MAX as u8);
        Ok(frame)
    }

    /// Gives the frame that starts at `address` back. Time: O(B + R).
    pub fn free(&mut self, address: u64) -> Result<(), FreeError> {
        let slot = self.layout.slot_of(address).ok_or(FreeError::NoFrame(address))?;
        let frame = address..address + self.geometry().page_bytes();
        if self.reserved.iter().any(|range| overlap(range, &frame)) {
            return Err(FreeError::Reserved(address));
        }
        if self.free.contains(slot) {
            return Err(FreeError::NotAllocated(address));
        }
        let color = self.geometry().color_of(address);
        self.free.insert(slot);
        self.free_of[color.index()] += 1;
        self.available = self.available | color.into();
        Ok(())
    }

    /// Takes the first `bytes` contiguous bytes that start with `run.first`, are
    /// free, and lie in the banks at or above the place `from`, and moves `from`
    /// behind them. `bytes` are whole pages and not more than the run has.
    ///
    /// Time: O(places in all banks from `from` on x pages), where a place is a
    /// contiguous piece of memory with all colours; `bytes` are short, so that
    /// this is near the number of words of storage per colour.
    pub(super) fn allocate_area(&mut self, run: Run, bytes: u64, from: &mut usize) -> Option<u64> {
        let unit = self.geometry().unit_pages() as usize;
        let pages = (bytes / self.geometry().page_bytes()) as usize;
        let slot_of = |layout: &Layout<'_>, row: usize, page: usize| {
            let color = Color(run.first.0 + (page / unit) as u8);
            (layout.slots_of(color), row + page % unit)
        };
        let mut row = *from;
        'place: loop {
            for page in 0..pages {
                let (slots, at) = slot_of(&self.layout, row, page);
                let next = self.free.next(slots.start + at).filter(|&slot| slot < slots.end)?;
                let free_row = next - slots.start;
                if free_row != at {
                    // No place before the one in which that free frame lies.
                    row = (free_row / unit * unit).max(row + unit);
                    continue 'place;
                }
            }
            break;
        }
        *from = row + unit;
        for page in 0..pages {
            let (slots, at) = slot_of(&self.layout, row, page);
            self.take(slots.start + at, Color(run.first.0 + (page / unit) as u8));
        }
        Some(self.layout.address_of(self.layout.slots_of(run.first).start + row))
    }

    fn take(&mut self, slot: usize, color: Color) {
        self.free.remove(slot);
        self.free_of[color.index()] -= 1;
        if self.free_of[color.index()] == 0 {
            self.available = self.available - color.into();
        }
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

/// Returns the whole pages of `bank` of which `range` has a byte.
fn touched(range: &Range<u64>, bank: &Range<u64>, page_bytes: u64) -> Range<u64> {
    if !overlap(range, bank) {
        return bank.start..bank.start;
    }
    let start = range.start.max(bank.start) & !(page_bytes - 1);
    // `bank.end` is a page boundary, so that this cannot wrap.
    start..range.end.min(bank.end).next_multiple_of(page_bytes)
}

/// Colours in rotation, so that pages are spread evenly over them. Each owner of memory has its own
/// rotation.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    colors: ColorSet,
    next: Color,
}

impl Rotation {
    /// Makes a rotation that starts with the lowest colour.
    pub const fn new(colors: ColorSet) -> Self {
        Self { colors, next: Color(0) }
    }

    /// Returns the colours.
    pub const fn colors(&self) -> ColorSet {
        self.colors
    }
}

/// No frame of these colours is free.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OutOfFrames(pub ColorSet);

impl fmt::Display for OutOfFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no free frame of the colours {}", self.0)
    }
}

impl error::Error for OutOfFrames {}

/// The reason why a frame cannot be freed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FreeError {
    /// No frame of the RAM starts at this address.
    NoFrame(u64),
    /// The frame at this address is reserved and has never been given out.
    Reserved(u64),
    /// The frame at this address is free already.
    NotAllocated(u64),
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFrame(address) => write!(f, "{address:#x} is not the start of a frame of RAM"),
            Self::Reserved(address) => write!(f, "the frame at {address:#x} is reserved"),
            Self::NotAllocated(address) => write!(f, "the frame at {address:#x} is free already"),
        }
    }
}

impl error::Error for FreeError {}
