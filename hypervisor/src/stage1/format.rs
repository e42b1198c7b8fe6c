//! Registers and descriptors of stage 1 (Arm ARM, sections D8.3 and D19.2).

/// Most levels of tables.
pub(super) const LEVELS: usize = 4;
/// The lowest level: its entries are pages.
const LAST_LEVEL: u32 = LEVELS as u32 - 1;

/// TCR_EL1: no walks with TTBR0_EL1.
const EPD0: u64 = 1 << 7;
/// TCR_EL1: permissions of tables do not count.
const HPD0: u64 = 1 << 41;
/// TCR_EL1: descriptors of 52-bit addresses, which have another layout.
const DS: u64 = 1 << 59;
const IPS_52_BITS: u64 = 6;

const T0SZ_MIN: u64 = 16;
const T0SZ_MAX: u64 = 48;

const VALID: u64 = 1 << 0;
/// A table, or on the last level a page.
const TABLE: u64 = 1 << 1;
/// AP\[1\]: EL0 may read.
const USER: u64 = 1 << 6;
/// APTable\[0\]: EL0 may not access pages behind the table.
const NO_USER_BEHIND: u64 = 1 << 61;
/// Highest bit of an address, without those of 52-bit addresses.
const ADDRESS: u64 = (1 << 48) - 1;

/// Address of the first table, below 2^48.
pub(super) const fn first_table(ttbr0: u64) -> u64 {
    // Bit 0 says that CPUs share the translations.
    ttbr0 & ADDRESS & !1
}

/// Layout of an address space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// log2 of the bytes of a page and of a table.
    pub granule: u32,
    /// Bits of a virtual address.
    pub bits: u32,
    /// Level of the first table.
    pub first_level: u32,
    /// Nothing is mapped.
    pub disabled: bool,
    /// Permissions of tables count.
    hierarchical: bool,
    /// Bits \[15:12\] of an address field are bits \[51:48\] of the address.
    long: bool,
}

/// The meaning of a descriptor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Entry {
    /// Nothing is mapped.
    Nothing,
    /// A table of the next level; without `user`, EL0 may not access pages behind it.
    Table { ipa: u64, user: bool },
    /// A block or page, which EL0 may or may not read.
    Leaf { ipa: u64, user: bool },
}

impl Format {
    /// `None` if the layout is none that the walker knows.
    pub(super) fn new(tcr: u64) -> Option<Self> {
        let granule = match tcr >> 14 & 3 {
            0 => 12,
            1 => 16,
            2 => 14,
            _ => return None,
        };
        let t0sz = tcr & 0x3f;
        let bits = 64 - t0sz as u32;
        if !(T0SZ_MIN..=T0SZ_MAX).contains(&t0sz) || bits <= granule || tcr & DS != 0 {
            return None;
        }
        let levels = (bits - granule).div_ceil(granule - 3);
        Some(Self {
            granule,
            bits,
            first_level: LAST_LEVEL + 1 - levels,
            disabled: tcr & EPD0 != 0,
            hierarchical: tcr & HPD0 == 0,
            long: granule == 16 && tcr >> 32 & 7 == IPS_52_BITS,
        })
    }

    /// log2 of the bytes that an entry of a level maps.
    pub(super) const fn entry_shift(&self, level: u32) -> u32 {
        self.granule + (self.granule - 3) * (LAST_LEVEL - level)
    }

    /// Entries of a table of this level.
    pub(super) const fn entries(&self, level: u32) -> u32 {
        let top = if level == self.first_level { self.bits } else { self.entry_shift(level - 1) };
        1 << (top - self.entry_shift(level))
    }

    /// Address of the first table. It is aligned to its size, which is at least 64 bytes.
    pub(super) fn first_table(&self, ttbr0: u64) -> u64 {
        let bytes = u64::from(self.entries(self.first_level) * 8).max(64);
        if self.long {
            // Bits [5:2] are bits [51:48] of the address.
            return first_table(ttbr0) & !(bytes - 1) | (ttbr0 >> 2 & 0xf) << 48;
        }
        first_table(ttbr0) & !(bytes - 1)
    }

    /// Reads a descriptor of a level.
    pub(super) fn entry(&self, level: u32, descriptor: u64) -> Entry {
        if descriptor & VALID == 0 {
            return Entry::Nothing;
        }
        let is_table = descriptor & TABLE != 0;
        if level < LAST_LEVEL && is_table {
            let user = !self.hierarchical || descriptor & NO_USER_BEHIND == 0;
            return Entry::Table { ipa: self.address(descriptor, self.granule), user };
        }
        if is_table || self.has_blocks(level) {
            let ipa = self.address(descriptor, self.entry_shift(level));
            return Entry::Leaf { ipa, user: descriptor & USER != 0 };
        }
        Entry::Nothing
    }

    /// Returns true if entries of a level can be blocks.
    const fn has_blocks(&self, level: u32) -> bool {
        // With pages of 64 KiB, level 1 has blocks of 4 TiB where addresses have 52 bits.
        level == 2 || level == 1 && (self.granule == 12 || self.long)
    }

    /// The address in a descriptor, of something of 2^shift bytes.
    fn address(&self, descriptor: u64, shift: u32) -> u64 {
        let high = if self.long { (descriptor >> 12 & 0xf) << 48 } else { 0 };
        descriptor & ADDRESS & !((1 << shift) - 1) | high
    }
}
