//! The caches as registers (Arm ARM, DDI 0487: CLIDR_EL1, CSSELR_EL1, CCSIDR_EL1) and CPUID (Intel SDM, leaf 04H; AMD APM volume
//! 3, function 8000_001DH) describe them.

/// The contents of a cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

impl Kind {
    /// The name of the contents, as it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Instruction => "instruction",
            Self::Unified => "unified",
        }
    }
}

/// The cache that CCSIDR_EL1 describes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Selection {
    /// Level, from 1 on.
    pub level: u8,
    /// The contents of the cache.
    pub kind: Kind,
}

impl Selection {
    /// Value of CSSELR_EL1.
    pub const fn csselr(self) -> u64 {
        (self.level as u64 - 1) << 1 | matches!(self.kind, Kind::Instruction) as u64
    }
}

/// All caches that a value of CLIDR_EL1 names, the last level last.
pub fn all(clidr: u64) -> impl Iterator<Item = Selection> {
    const DATA: u64 = 2;
    let kinds = |field: u64| -> &'static [Kind] {
        match field {
            1 => &[Kind::Instruction],
            DATA => &[Kind::Data],
            3 => &[Kind::Data, Kind::Instruction],
            4 => &[Kind::Unified],
            _ => &[],
        }
    };
    (1..=7).flat_map(move |level| {
        let field = clidr >> (3 * (level - 1)) & 7;
        kinds(field).iter().map(move |&kind| Selection { level, kind })
    })
}

/// The shape of a cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shape {
    /// Ways.
    pub ways: u64,
    /// Bytes of a line.
    pub line: u64,
    /// Sets.
    pub sets: u64,
}

impl Shape {
    /// Returns the cache that a value of CCSIDR_EL1 describes, in the 64-bit format (FEAT_CCIDX) or the 32-bit one.
    pub const fn of(ccsidr: u64, ccidx: bool) -> Self {
        let (ways, sets) = match ccidx {
            true => (ccsidr >> 3 & 0x1f_ffff, ccsidr >> 32 & 0xff_ffff),
            false => (ccsidr >> 3 & 0x3ff, ccsidr >> 13 & 0x7fff),
        };
        Self { ways: ways + 1, line: 16 << (ccsidr & 7), sets: sets + 1 }
    }

    /// The level, contents and shape of the cache that a subleaf of CPUID describes; `None` behind the last one. Parts of a line
    /// that have tags of their own count as sets.
    pub const fn of_cpuid([eax, ebx, ecx]: [u32; 3]) -> Option<(u8, Kind, Self)> {
        let kind = match eax & 0x1f {
            1 => Kind::Data,
            2 => Kind::Instruction,
            3 => Kind::Unified,
            _ => return None,
        };
        let parts = (ebx >> 12 & 0x3ff) as u64 + 1;
        let (ways, line) = ((ebx >> 22) as u64 + 1, (ebx & 0xfff) as u64 + 1);
        Some(((eax >> 5 & 7) as u8, kind, Self { ways, line, sets: (ecx as u64 + 1) * parts }))
    }

    /// Bytes.
    pub const fn size(self) -> u64 {
        self.ways * self.line * self.sets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caches_of_a_cortex_a53_in_qemu() {
        let selected: Vec<_> =
            all(0x0a20_0023).map(|it| (it.level, it.kind, it.csselr())).collect();
        let expected = [(1, Kind::Data, 0), (1, Kind::Instruction, 1), (2, Kind::Unified, 2)];
        assert_eq!(selected, expected);
        let shape = Shape::of(0x707f_e07a, false);
        assert_eq!(shape, Shape { ways: 16, line: 64, sets: 1024 });
        assert_eq!(shape.size(), 1 << 20);
        assert_eq!(Shape::of(0x0000_03ff_0000_007a, true), shape);
    }

    #[test]
    fn the_caches_of_a_core_i7_2600() {
        let last = Shape { ways: 16, line: 64, sets: 8192 };
        let subleaf = [0x1c03_c163, 0x03c0_003f, 0x1fff];
        assert_eq!(Shape::of_cpuid(subleaf), Some((3, Kind::Unified, last)));
        assert_eq!(last.size(), 8 << 20);
        let [first, second] =
            [1, 2].map(|kind| Shape::of_cpuid([0x1c00_4120 | kind, 0x01c0_003f, 63]));
        assert_eq!(first.map(|it| (it.0, it.1, it.2.size())), Some((1, Kind::Data, 32 << 10)));
        assert_eq!(second.map(|it| it.1), Some(Kind::Instruction));
        assert_eq!(Shape::of_cpuid([0; 3]), None);
    }
}
