//! The cache registers CCSIDR_EL1 and CLIDR_EL1 (Arm ARM, DDI 0487).

use core::{error, fmt};

use super::cache::{Cache, CacheError};

/// Format of CCSIDR_EL1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CcsidrFormat {
    /// 32 bits: without FEAT_CCIDX.
    Bits32,
    /// 64 bits: with FEAT_CCIDX (ID_AA64MMFR2_EL1.CCIDX is 1).
    Bits64,
}

impl CcsidrFormat {
    /// First bit and width of the field NumSets.
    const fn sets(self) -> (u32, u32) {
        match self {
            Self::Bits32 => (13, 15),
            Self::Bits64 => (32, 24),
        }
    }

    /// Width of the field Associativity, which starts at bit 3.
    const fn ways_bits(self) -> u32 {
        match self {
            Self::Bits32 => 10,
            Self::Bits64 => 21,
        }
    }
}

/// A value of CCSIDR_EL1: the shape of the cache that CSSELR_EL1 selects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ccsidr {
    /// The register.
    pub value: u64,
    /// Format of the register.
    pub format: CcsidrFormat,
}

impl Ccsidr {
    /// Returns its number of sets.
    pub const fn sets(self) -> u64 {
        let (shift, bits) = self.format.sets();
        1 + (self.value >> shift & ((1 << bits) - 1))
    }

    /// Returns the cache that it describes, or why that cannot be coloured. Slices do not show in
    /// it.
    pub fn cache(self) -> Result<Cache, CacheError> {
        let line_bytes = 16 << (self.value & 7);
        let ways = 1 + (self.value >> 3 & ((1 << self.format.ways_bits()) - 1));
        let sets = self.sets();
        Cache::new(sets * ways * line_bytes, ways as u32, line_bytes as u32)
    }

    /// Returns the same value with another number of sets, at least one. All other bits are kept:
    /// in the 32-bit format, older cores have more information in bits 31:28.
    pub const fn with_sets(self, sets: u64) -> Result<Self, TooManySets> {
        let (shift, bits) = self.format.sets();
        let max = 1 << bits;
        if sets > max {
            return Err(TooManySets { sets, max });
        }
        let others = self.value & !((max - 1) << shift);
        Ok(Self { value: others | sets.saturating_sub(1) << shift, ..self })
    }
}

/// The format of CCSIDR_EL1 has no room for this number of sets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooManySets {
    /// The number.
    pub sets: u64,
    /// The largest number that fits.
    pub max: u64,
}

impl fmt::Display for TooManySets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sets, but CCSIDR_EL1 can show at most {}", self.sets, self.max)
    }
}

impl error::Error for TooManySets {}

/// A value of CLIDR_EL1: the levels of cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clidr(pub u64);

impl Clidr {
    /// Ctype of a unified cache.
    const UNIFIED: u64 = 4;

    /// Returns the level of the last cache, 1 to 7, which must be unified to be coloured.
    /// `CSSELR_EL1 = (level - 1) << 1` selects it.
    ///
    /// Levels behind the first one without a cache do not count.
    pub fn last_level(self) -> Result<u8, ClidrError> {
        let kind = |level: u8| self.0 >> (3 * (level - 1)) & 7;
        let level = (1..=7).take_while(|&level| kind(level) != 0).last();
        let level = level.ok_or(ClidrError::NoCache)?;
        if kind(level) != Self::UNIFIED {
            return Err(ClidrError::NotUnified(level));
        }
        Ok(level)
    }

    /// Returns true if this value of CSSELR_EL1 selects a cache that exists: its level, and none
    /// before it, is without one, and the cache is of the selected kind.
    pub const fn selects_cache(self, csselr: u64) -> bool {
        let level = csselr >> 1 & 7;
        let mut before = 0;
        while before < level {
            if self.0 >> (3 * before) & 7 == 0 {
                return false;
            }
            before += 1;
        }
        // Instruction caches alone or separate ones; data caches alone, separate or unified ones.
        let kinds = if csselr & 1 != 0 { 0b01010 } else { 0b11100 };
        level < 7 && kinds >> (self.0 >> (3 * level) & 7) & 1 != 0
    }

    /// Returns true if this value of CSSELR_EL1 selects [`Clidr::last_level`], in a few
    /// instructions: a unified cache, and none behind it.
    ///
    /// Only for registers with a last level that is unified, without caches behind a level that has
    /// none.
    pub const fn selects_last_level(self, csselr: u64) -> bool {
        const CTYPES: u64 = (1 << 21) - 1;
        let level = csselr >> 1 & 7;
        csselr & 1 == 0 && (self.0 & CTYPES) >> (3 * level) & 0o77 == Self::UNIFIED
    }
}

/// The reason why CLIDR_EL1 shows no cache that can be coloured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClidrError {
    /// It shows no cache.
    NoCache,
    /// The last cache, of this level, is not unified.
    NotUnified(u8),
}

impl fmt::Display for ClidrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCache => f.write_str("CLIDR_EL1 shows no cache"),
            Self::NotUnified(level) => write!(
                f,
                "the last cache in CLIDR_EL1, of level {level}, is not unified: the shared cache \
                 of this machine does not show in its registers"
            ),
        }
    }
}

impl error::Error for ClidrError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qemu_cortex_a53_second_level() {
        let register = Ccsidr { value: 0x707f_e07a, format: CcsidrFormat::Bits32 };
        assert_eq!(register.cache(), Cache::new(1 << 20, 16, 64));
    }

    #[test]
    fn cortex_a35_manual_second_level() {
        // Cortex-A35 TRM (100236), table B1-32.
        for (kib, value) in
            [(128, 0x701f_e03a), (256, 0x703f_e03a), (512, 0x707f_e03a), (1024, 0x70ff_e03a)]
        {
            let register = Ccsidr { value, format: CcsidrFormat::Bits32 };
            assert_eq!(register.cache(), Cache::new(kib << 10, 8, 64));
            let smallest = Ccsidr { value: 0x701f_e03a, ..register };
            assert_eq!(smallest.with_sets(kib * 2), Ok(register));
        }
    }

    #[test]
    fn the_64_bit_format_has_its_own_fields() {
        // NumSets 2047 in bits 55:32, Associativity 15 in 23:3, LineSize 2 in 2:0.
        let register = Ccsidr { value: 0x0000_07ff_0000_007a, format: CcsidrFormat::Bits64 };
        assert_eq!(register.cache(), Cache::new(2 << 20, 16, 64));
        let half = Ccsidr { value: 0x0000_03ff_0000_007a, ..register };
        assert_eq!(register.with_sets(1024), Ok(half));
        assert_eq!((register.sets(), half.sets()), (2048, 1024));
    }

    #[test]
    fn every_field_is_read_whole_and_no_further() {
        let ones = Ccsidr { value: u64::MAX, format: CcsidrFormat::Bits32 };
        assert_eq!(ones.cache(), Cache::new(2048 << 25, 1024, 2048));
        let ones = Ccsidr { format: CcsidrFormat::Bits64, ..ones };
        assert_eq!(ones.cache(), Cache::new(2048 << 45, 1 << 21, 2048));
    }

    #[test]
    fn sets_beyond_the_field_are_refused() {
        let register = Ccsidr { value: 0, format: CcsidrFormat::Bits32 };
        assert!(register.with_sets(32768).is_ok());
        assert_eq!(
            register.with_sets(65536).unwrap_err().to_string(),
            "65536 sets, but CCSIDR_EL1 can show at most 32768"
        );
    }

    #[test]
    fn registers_of_caches_that_cannot_be_colored_say_so() {
        let three_sets = Ccsidr { value: 2 << 13 | 2, format: CcsidrFormat::Bits32 };
        assert_eq!(three_sets.cache(), Err(CacheError::Sets(3)));
    }

    #[test]
    fn the_last_level_is_selected_by_one_value() {
        let selecting = |clidr| -> Vec<u64> {
            (0..16).filter(|&csselr| Clidr(clidr).selects_last_level(csselr)).collect()
        };
        assert_eq!(selecting(0x0a20_0023), [2], "QEMU, Cortex-A53");
        assert_eq!(selecting(0o443), [4]);
        assert_eq!(selecting(0o4), [0]);
        assert_eq!(selecting(0o4444444 | 7 << 21), [12], "level 7, other fields behind it");
        assert_eq!(selecting(0o33), [0; 0], "not unified");
    }

    #[test]
    fn caches_that_exist_can_be_selected() {
        let selecting = |clidr| -> Vec<u64> {
            (0..16).filter(|&csselr| Clidr(clidr).selects_cache(csselr)).collect()
        };
        assert_eq!(selecting(0x0a20_0023), [0, 1, 2], "QEMU, Cortex-A53");
        assert_eq!(selecting(0o421), [1, 2, 4], "instructions, data, both");
        assert_eq!(selecting(0o403), [0, 1], "nothing counts behind a hole");
        assert_eq!(selecting(0o4444444 | 7 << 21), [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!(selecting(0), [0; 0]);
        assert_eq!(selecting(0o567), [0; 0], "reserved");
    }

    #[test]
    fn the_last_level_is_found() {
        assert_eq!(Clidr(0x0a20_0023).last_level(), Ok(2), "QEMU, Cortex-A53");
        assert_eq!(Clidr(0o443).last_level(), Ok(3));
        assert_eq!(Clidr(0o403).last_level(), Err(ClidrError::NotUnified(1)), "hole at level 2");
        assert_eq!(Clidr(0x0920_0003).last_level(), Err(ClidrError::NotUnified(1)));
        assert_eq!(Clidr(0).last_level(), Err(ClidrError::NoCache));
        assert_eq!(Clidr(0o4444444).last_level(), Ok(7));
    }
}
