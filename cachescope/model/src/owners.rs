//! Whose memory an address is.

use std::ops::Range;

use thiserror::Error;

/// Pages in which memory is given away, in bytes.
pub const PAGE: u64 = 4096;

/// Bit in the entry of a page: no cache takes lines of it.
const UNCACHED: u8 = 1 << 7;

/// Most owners, with the hypervisor and [`Owner::UNOWNED`].
pub const OWNERS_MAX: usize = 32;

/// First address that cannot be owned: 2^40.
pub const ADDRESS_END: u64 = 1 << 40;

/// Pages in one chunk of the table: 16 MiB of memory.
const CHUNK_PAGES: u64 = 4096;

/// An owner of memory, which makes accesses: the hypervisor, a VM, or [`Owner::UNOWNED`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Owner(u8);

impl Owner {
    /// The hypervisor.
    pub const HYPERVISOR: Self = Self(0);
    /// No known owner: memory outside all ranges.
    pub const UNOWNED: Self = Self(1);

    /// Its index, from 0: in tables, and in the lists of results.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The owners of pages. Every look-up is two array accesses.
#[derive(Clone, Debug)]
pub struct Owners {
    names: Vec<String>,
    ranges: Vec<(Owner, Range<u64>)>,
    chunks: Vec<Option<Box<[u8]>>>,
}

/// The reason why memory cannot be given to an owner.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum OwnersError {
    /// The range is not made of whole pages.
    #[error("{0:#x}+{1:#x}: expected start and size to be multiples of 4 KiB, and a size above 0")]
    Unaligned(u64, u64),
    /// Too high.
    #[error("{0:#x}+{1:#x}: expected the range to end at or below 0x{ADDRESS_END:x}")]
    TooHigh(u64, u64),
    /// The memory belongs to another owner.
    #[error(
        "{address:#x} belongs to \"{first}\" and cannot belong to \"{second}\" too; memory that VMs share needs a name of its own, such as vm=shared:..."
    )]
    Overlap {
        /// First address that is owned twice.
        address: u64,
        /// The owner of the memory.
        first: String,
        /// The owner that was to own it too.
        second: String,
    },
    /// Too many names.
    #[error("more than {} VMs", OWNERS_MAX - 2)]
    TooMany,
}

impl Default for Owners {
    fn default() -> Self {
        let names = ["hypervisor", "unowned"].map(String::from).to_vec();
        Self { names, ranges: Vec::new(), chunks: Vec::new() }
    }
}

impl Owners {
    /// The owner with this name, new if there was none.
    ///
    /// # Errors
    /// If there would be more than [`OWNERS_MAX`].
    pub fn named(&mut self, name: &str) -> Result<Owner, OwnersError> {
        let index = match self.names.iter().position(|known| known == name) {
            Some(index) => index,
            None if self.names.len() == OWNERS_MAX => return Err(OwnersError::TooMany),
            None => {
                self.names.push(name.into());
                self.names.len() - 1
            }
        };
        Ok(Owner(index as u8))
    }

    /// Gives the bytes from `start` to an owner.
    ///
    /// # Errors
    /// If the range is not made of whole pages below [`ADDRESS_END`], or a page
    /// of it belongs to another owner.
    pub fn give(&mut self, owner: Owner, start: u64, size: u64) -> Result<(), OwnersError> {
        let range = pages(start, size)?;
        for address in range.clone().step_by(PAGE as usize) {
            let first = self.of(address);
            if first != Owner::UNOWNED && first != owner {
                let (first, second) = (self.name(first).into(), self.name(owner).into());
                return Err(OwnersError::Overlap { address, first, second });
            }
            let entry = self.entry(address);
            *entry = *entry & UNCACHED | owner.0;
        }
        self.ranges.push((owner, range));
        Ok(())
    }

    /// No cache takes lines of the bytes from `start`, whatever their owner is.
    ///
    /// # Errors
    /// If the range is not made of whole pages below [`ADDRESS_END`].
    pub fn exclude(&mut self, start: u64, size: u64) -> Result<(), OwnersError> {
        for address in pages(start, size)?.step_by(PAGE as usize) {
            *self.entry(address) |= UNCACHED;
        }
        Ok(())
    }

    /// Returns true if no cache takes lines of the page of a physical address.
    pub fn is_uncached(&self, address: u64) -> bool {
        let (chunk, page) = place(address);
        matches!(self.chunks.get(chunk), Some(Some(pages)) if pages[page] & UNCACHED != 0)
    }

    /// The entry of a page below [`ADDRESS_END`]: its owner, and a bit if no cache takes its lines.
    fn entry(&mut self, address: u64) -> &mut u8 {
        let (chunk, page) = place(address);
        if self.chunks.len() <= chunk {
            self.chunks.resize(chunk + 1, None);
        }
        let pages = self.chunks[chunk]
            .get_or_insert_with(|| vec![Owner::UNOWNED.0; CHUNK_PAGES as usize].into());
        &mut pages[page]
    }

    /// Whose the byte at a physical address is.
    #[inline]
    pub fn of(&self, address: u64) -> Owner {
        let (chunk, page) = place(address);
        match self.chunks.get(chunk) {
            Some(Some(pages)) => Owner(pages[page] & !UNCACHED),
            _ => Owner::UNOWNED,
        }
    }

    /// Name of an owner.
    pub fn name(&self, owner: Owner) -> &str {
        &self.names[owner.index()]
    }

    /// Number of owners, at least the hypervisor and [`Owner::UNOWNED`].
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// All owners.
    pub fn iter(&self) -> impl Iterator<Item = Owner> + use<> {
        (0..self.names.len() as u8).map(Owner)
    }

    /// Bytes that an owner was given.
    pub fn bytes(&self, owner: Owner) -> u64 {
        let mine = self.ranges.iter().filter(|(of, _)| *of == owner);
        mine.map(|(_, range)| range.end - range.start).sum()
    }
}

/// The range of `size` bytes from `start`, if it is made of whole pages.
fn pages(start: u64, size: u64) -> Result<Range<u64>, OwnersError> {
    if !start.is_multiple_of(PAGE) || !size.is_multiple_of(PAGE) || size == 0 {
        return Err(OwnersError::Unaligned(start, size));
    }
    let end = start.checked_add(size).filter(|&end| end <= ADDRESS_END);
    Ok(start..end.ok_or(OwnersError::TooHigh(start, size))?)
}

#[inline]
fn place(address: u64) -> (usize, usize) {
    let page = address / PAGE;
    ((page / CHUNK_PAGES) as usize, (page % CHUNK_PAGES) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_range_has_its_owner() {
        let mut owners = Owners::default();
        let a = owners.named("a").unwrap();
        let b = owners.named("b").unwrap();
        owners.give(a, 0x4100_0000, 0x0200_1000).unwrap();
        owners.give(b, 0x4300_1000, 0x1000).unwrap();
        owners.give(Owner::HYPERVISOR, 0x4000_0000, 0x1000).unwrap();
        for (address, owner) in [
            (0x40ff_ffff, Owner::UNOWNED),
            (0x4100_0000, a),
            (0x4300_0fff, a),
            (0x4300_1000, b),
            (0x4300_2000, Owner::UNOWNED),
            (0x4000_0800, Owner::HYPERVISOR),
            (u64::MAX, Owner::UNOWNED),
        ] {
            assert_eq!(owners.of(address), owner, "{address:#x}");
        }
        assert_eq!(owners.bytes(a), 0x0200_1000);
        assert_eq!(owners.named("b").unwrap(), b);
    }

    #[test]
    fn memory_that_is_not_cached_keeps_its_owner() {
        let mut owners = Owners::default();
        let a = owners.named("a").unwrap();
        owners.give(a, 0x1000, 0x1000).unwrap();
        owners.exclude(0x1000, 0x2000).unwrap();
        owners.give(a, 0x2000, 0x2000).unwrap();
        let found = [0x1000, 0x2fff, 0x3000].map(|at| (owners.of(at), owners.is_uncached(at)));
        assert_eq!(found, [(a, true), (a, true), (a, false)]);
        assert!(matches!(owners.exclude(0x800, 0x1000), Err(OwnersError::Unaligned(..))));
    }

    #[test]
    fn bad_ranges_are_refused() {
        let mut owners = Owners::default();
        let a = owners.named("a").unwrap();
        let b = owners.named("b").unwrap();
        owners.give(a, 0x1000, 0x2000).unwrap();
        let overlap = owners.give(b, 0, 0x3000).unwrap_err();
        assert!(matches!(overlap, OwnersError::Overlap { address: 0x1000, .. }), "{overlap}");
        assert!(matches!(owners.give(a, 1, 0x1000), Err(OwnersError::Unaligned(..))));
        assert!(matches!(owners.give(a, 0x4000, 0), Err(OwnersError::Unaligned(..))));
        assert!(matches!(owners.give(a, !0xfff, 0x1000), Err(OwnersError::TooHigh(..))));
        assert!(matches!(owners.give(a, ADDRESS_END, 0x1000), Err(OwnersError::TooHigh(..))));
    }

    #[test]
    fn there_is_a_limit_to_names() {
        let mut owners = Owners::default();
        let made = (0..OWNERS_MAX).map_while(|n| owners.named(&format!("vm{n}")).ok()).count();
        assert_eq!(made, OWNERS_MAX - 2);
    }
}
