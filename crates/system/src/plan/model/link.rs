//! Links between VMs.

use std::fmt;

use units::{Bytes, Rate};

use super::{Plan, Rings};
use crate::address::{IntId, Ipa, Region};

/// Two network cards, one in each VM, and the wire between them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link {
    /// Name: as that of a VM.
    pub name: String,
    /// Registers of its cards; both VMs have them at the same address.
    pub registers: Region<Ipa>,
    /// Indices of its VMs, in ascending order.
    pub vms: [u32; 2],
    /// Its interrupt in each of them.
    pub interrupts: [IntId; 2],
    /// The addresses of its cards.
    pub macs: [Mac; 2],
    /// The rate at which each end may send.
    pub rate: Rate,
    /// The part of this that an end may send at once.
    pub burst: Bytes,
    /// The limit on interrupts that one end causes at the other.
    pub tells: Rings,
}

/// The address of a network card.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Returns the address of an end of a link, if the description does not say: one that is given locally.
    pub(crate) fn of(link: usize, end: u8) -> Self {
        Self([0x02, b'b', b'h', 0, link as u8, end + 1])
    }

    /// Reads an address: six bytes in hexadecimal, with colons between them.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|it| it.len() == 2 && !it.starts_with('+'))?;
            *byte = u8::from_str_radix(part, 16).ok()?;
        }
        parts.next().is_none().then_some(Self(bytes))
    }

    /// Returns true if one card can have this address: it is neither that of a group nor zero.
    pub fn is_valid(self) -> bool {
        self.0[0] & 1 == 0 && self.0 != [0; 6]
    }

    /// Returns the two numbers that the plan has for it.
    pub(crate) fn numbers(self) -> [u32; 2] {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
        [number(&self.0[..2]), number(&self.0[2..])]
    }

    /// Returns the inverse of [`Mac::numbers`].
    pub(crate) fn from_numbers([high, low]: [u32; 2]) -> Option<Self> {
        let [zero, rest @ ..] = (u64::from(high) << 32 | u64::from(low)).to_be_bytes();
        let [also_zero, bytes @ ..] = rest;
        (zero == 0 && also_zero == 0).then_some(Self(bytes))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(f, ":{byte:02x}"))
    }
}

impl Plan {
    /// Returns the links of the VM with this index, and at which end of each it is.
    pub fn links_of(&self, vm: usize) -> impl Iterator<Item = (&Link, usize)> {
        let end = move |link: &Link| link.vms.iter().position(|it| *it as usize == vm);
        self.links.iter().filter_map(move |link| Some((link, end(link)?)))
    }
}
