//! The frames of a machine, numbered by colour.

use core::ops::Range;
use core::{error, fmt};

use super::geometry::Geometry;
use super::set::Color;

/// Gives every frame in the banks of RAM a number, its *slot*.
///
/// The frames of one colour have contiguous slots, in the order of the banks
/// and of the addresses in them, so that a set of slots finds a free frame of a
/// colour by looking for the next number. Where a bank does not start or end at
/// colour 0 there are slots without a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'a> {
    geometry: Geometry,
    banks: &'a [Range<u64>],
    /// Slots of each colour.
    rows: usize,
}

impl<'a> Layout<'a> {
    /// Time: quadratic in the number of banks.
    pub fn new(geometry: Geometry, banks: &'a [Range<u64>]) -> Result<Self, RamError> {
        let page = geometry.page_bytes();
        let mut rows = 0u64;
        for (i, bank) in banks.iter().enumerate() {
            if bank.is_empty() || !bank.start.is_multiple_of(page) || !bank.end.is_multiple_of(page)
            {
                return Err(RamError::Bank(i));
            }
            let overlaps = |other: &Range<u64>| other.start < bank.end && bank.start < other.end;
            if let Some(other) = banks[..i].iter().position(overlaps) {
                return Err(RamError::Overlap(other, i));
            }
            let (first, end) = geometry.rows(bank.start, bank.end);
            rows = rows.saturating_add(end - first);
        }
        match u32::try_from(rows.saturating_mul(u64::from(geometry.colors()))) {
            Ok(_) => Ok(Self { geometry, banks, rows: rows as usize }),
            Err(_) => Err(RamError::TooLarge),
        }
    }

    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// One more than the highest slot.
    pub fn slots(&self) -> usize {
        self.rows * self.geometry.colors() as usize
    }

    /// Returns the slots of `color`; none if the cache does not have the colour.
    pub fn slots_of(&self, color: Color) -> Range<usize> {
        let start = (color.index() * self.rows).min(self.slots());
        start..(start + self.rows).min(self.slots())
    }

    /// Returns the slots of the frames of `color` in `frames`, a part of one bank that starts and
    /// ends at a frame. Time: number of banks.
    pub fn slots_in(&self, frames: &Range<u64>, color: Color) -> Range<usize> {
        let mut before = color.index() * self.rows;
        for bank in self.banks {
            let (first, end) = self.geometry.rows(bank.start, bank.end);
            if bank.contains(&frames.start) {
                let slot = |address| before + (self.geometry.row(color, address) - first) as usize;
                return slot(frames.start)..slot(frames.end);
            }
            before += (end - first) as usize;
        }
        0..0
    }

    /// Returns the slot of the frame that starts at `address`, if it is RAM. Time: number of banks.
    pub fn slot_of(&self, address: u64) -> Option<usize> {
        let page = self.geometry.page_bytes();
        let end = address.checked_add(page).filter(|_| address.is_multiple_of(page))?;
        self.slots_in(&(address..end), self.geometry.color_of(address)).next()
    }

    /// Returns the address of the frame with this slot, which has one. Time: number of banks.
    pub fn address_of(&self, slot: usize) -> u64 {
        let color = Color((slot / self.rows) as u8);
        let mut row = (slot % self.rows) as u64;
        for bank in self.banks {
            let (first, end) = self.geometry.rows(bank.start, bank.end);
            if row < end - first {
                return self.geometry.page_at(color, first + row);
            }
            row -= end - first;
        }
        unreachable!("rows are those of all banks")
    }
}

/// The reason why banks of RAM cannot be given out by colour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RamError {
    /// The bank with this index is empty or does not start and end at a page
    /// boundary.
    Bank(usize),
    /// The banks with these indices have bytes in common.
    Overlap(usize, usize),
    /// There are 2^32 frames or more.
    TooLarge,
    /// The storage is too small.
    Storage {
        /// Words that are needed.
        needed: usize,
        /// Words that were given.
        given: usize,
    },
}

impl fmt::Display for RamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bank(i) => {
                write!(f, "RAM bank {i} is empty, or does not start and end at a page boundary")
            }
            Self::Overlap(i, j) => write!(f, "RAM banks {i} and {j} overlap"),
            Self::TooLarge => f.write_str("the RAM has more frames than 32 bits can count"),
            Self::Storage { needed, given } => {
                write!(f, "free frames need {needed} words of storage, only {given} are given")
            }
        }
    }
}

impl error::Error for RamError {}
