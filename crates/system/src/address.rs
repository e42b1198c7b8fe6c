//! Addresses, ranges of addresses, and the numbers of PCPUs and interrupts.

use std::fmt;

use abi::limits::SHARED_INTERRUPTS;
use units::Bytes;

/// An address in one of the address spaces: [`Ipa`] or [`PhysicalAddress`].
pub trait Address: Copy + Ord + fmt::Debug + fmt::Display + From<u64> {
    /// Returns the address as a number.
    fn get(self) -> u64;

    /// Returns the address `bytes` further on, or `None` beyond the end of 64 bits.
    fn checked_add(self, bytes: Bytes) -> Option<Self> {
        self.get().checked_add(bytes.get()).map(Self::from)
    }
}

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(pub u64);

        impl From<u64> for $name {
            fn from(address: u64) -> Self {
                Self(address)
            }
        }

        impl Address for $name {
            fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address! {
    /// Intermediate physical address: one that a guest takes for a physical address.
    Ipa
}
address! {
    /// Address of the machine.
    PhysicalAddress
}

/// A range of addresses, `start` included, `start + size` not.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Region<A> {
    /// First address.
    pub start: A,
    /// Number of bytes.
    pub size: Bytes,
}

impl<A: Address> Region<A> {
    /// Returns the region of `size` bytes at `start`.
    pub fn new(start: impl Into<A>, size: impl Into<Bytes>) -> Self {
        Self { start: start.into(), size: size.into() }
    }

    /// Returns the first address behind the region; the end of the address space if the region
    /// reaches beyond it.
    pub fn end(&self) -> A {
        A::from(self.start.get().saturating_add(self.size.get()))
    }

    /// Returns true if the region reaches beyond the end of the address space.
    pub fn wraps(&self) -> bool {
        self.start.checked_add(self.size).is_none()
    }

    /// Returns true if the two share a byte.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (first, last) = (self.start.max(other.start), self.end().min(other.end()));
        first < last
    }

    /// Returns true if all of `other` lies in this region.
    pub fn contains(&self, other: &Self) -> bool {
        self.start <= other.start && other.end() <= self.end() && !other.wraps()
    }

    /// Returns true if the address lies in the region.
    pub fn has(&self, address: A) -> bool {
        self.start <= address && address < self.end()
    }
}

impl<A: Address> fmt::Display for Region<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size.get().checked_sub(1).and_then(|last| self.start.get().checked_add(last)) {
            Some(last) => write!(f, "{}..={last:#x}", self.start),
            None => write!(f, "{} and {}", self.start, self.size),
        }
    }
}

/// Number of an interrupt at the GIC (INTID): 16..31 are private to a CPU,
/// 32..1019 shared.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct IntId(pub u32);

impl IntId {
    /// Returns true if the interrupt is a shared one (SPI).
    pub fn is_shared(self) -> bool {
        SHARED_INTERRUPTS.contains(&self.0)
    }
}

impl fmt::Display for IntId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Affinity of a CPU as `MPIDR_EL1` shows it: which one the machine means.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Mpidr(pub u64);

impl fmt::Display for Mpidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Index of a physical CPU in the plan, from 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Pcpu(pub u32);

impl fmt::Display for Pcpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: u64, size: u64) -> Region<Ipa> {
        Region::new(start, size)
    }

    #[test]
    fn neighbours_do_not_overlap() {
        assert!(!region(0x1000, 0x1000).overlaps(&region(0x2000, 0x1000)));
        assert!(region(0x1000, 0x1001).overlaps(&region(0x2000, 0x1000)));
    }

    #[test]
    fn an_empty_region_overlaps_nothing() {
        assert!(!region(0x1800, 0).overlaps(&region(0x1000, 0x1000)));
    }

    #[test]
    fn a_region_beyond_the_end_wraps() {
        let region = region(u64::MAX - 0xfff, 0x2000);
        assert!(region.wraps());
        assert_eq!(region.end(), Ipa(u64::MAX));
        assert!(!Region::new(0, u64::MAX).contains(&region));
    }

    #[test]
    fn regions_are_shown_with_their_last_address() {
        assert_eq!(region(0x4000_0000, 0x1000).to_string(), "0x40000000..=0x40000fff");
    }
}
