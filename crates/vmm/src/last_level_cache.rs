//! The last-level cache that a VM sees by CPUID (Intel SDM, leaves 02H and 04H; AMD APM volume 3, functions 8000_0006H and
//! 8000_001DH).

use kvm_bindings::kvm_cpuid_entry2;

/// Descriptors of caches and TLBs, one in each byte.
const DESCRIPTORS: u32 = 2;
/// One of them: [`INTEL`] describes the caches.
const IN_INTEL: u32 = 0xff;
/// The caches, one in each subleaf.
const INTEL: u32 = 4;
/// The same in the same format.
const AMD: u32 = 0x8000_001d;
/// Sizes of the second and third level.
const AMD_SIZES: u32 = 0x8000_0006;
/// Kinds of a cache.
const NONE: u32 = 0;
const INSTRUCTIONS: u32 = 2;

/// A cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LastLevelCache {
    /// Its size.
    pub bytes: u64,
    /// Its ways.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
}

impl LastLevelCache {
    /// Lets these leaves of CPUID describe this cache in place of their last level. Returns false if they describe no caches.
    pub(crate) fn show(self, leaves: &mut [kvm_cpuid_entry2]) -> bool {
        let Some(last) = leaves.iter().filter_map(level).max() else { return false };
        for leaf in leaves.iter_mut() {
            match leaf.function {
                INTEL | AMD if level(leaf) == Some(last) => {
                    // Parts of a line that have tags of their own stay as they are.
                    let parts = leaf.ebx >> 12 & 0x3ff;
                    let way =
                        u64::from(self.ways) * u64::from(self.line_bytes) * u64::from(parts + 1);
                    let sets = self.bytes.checked_div(way).unwrap_or(0);
                    leaf.ebx = self.ways.saturating_sub(1) << 22
                        | parts << 12
                        | self.line_bytes.saturating_sub(1);
                    leaf.ecx = sets.saturating_sub(1) as u32;
                }
                AMD_SIZES if last == 3 && leaf.edx != 0 => {
                    leaf.edx = ((self.bytes >> 19) as u32) << 18 | leaf.edx & 0x3_ffff;
                }
                AMD_SIZES if last == 2 && leaf.ecx != 0 => {
                    leaf.ecx = ((self.bytes >> 10) as u32) << 16 | leaf.ecx & 0xffff;
                }
                DESCRIPTORS if leaf.eax != 0 && !refers_to_intel(leaf) => {
                    // The lowest byte says how often the leaf has to be read.
                    leaf.eax = IN_INTEL << 8 | leaf.eax & 0xff;
                    [leaf.ebx, leaf.ecx, leaf.edx] = [0; 3];
                }
                _ => {}
            }
        }
        true
    }
}

/// Returns the level of a cache for data that a leaf describes, if it describes one.
fn level(leaf: &kvm_cpuid_entry2) -> Option<u32> {
    let (kind, level) = (leaf.eax & 0x1f, leaf.eax >> 5 & 7);
    let is_one = [INTEL, AMD].contains(&leaf.function) && ![NONE, INSTRUCTIONS].contains(&kind);
    is_one.then_some(level)
}

fn refers_to_intel(leaf: &kvm_cpuid_entry2) -> bool {
    let bytes = [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes);
    bytes.as_flattened().contains(&(IN_INTEL as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(function: u32, index: u32, [eax, ebx, ecx, edx]: [u32; 4]) -> kvm_cpuid_entry2 {
        kvm_cpuid_entry2 { function, index, eax, ebx, ecx, edx, ..Default::default() }
    }

    fn registers(leaf: &kvm_cpuid_entry2) -> [u32; 4] {
        [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx]
    }

    const HALF: LastLevelCache = LastLevelCache { bytes: 4 << 20, ways: 16, line_bytes: 64 };

    /// An Intel Core i7-2600: 8 MiB in 16 ways, 8,192 sets.
    #[test]
    fn an_intel_cpu_has_half_of_its_sets_and_the_other_levels_stay() {
        let mut leaves = [
            leaf(2, 0, [0x7603_5a01, 0x00f0_b2ff, 0, 0x00ca_0000]),
            leaf(4, 0, [0x1c00_4121, 0x01c0_003f, 0x3f, 0]),
            leaf(4, 1, [0x1c00_4122, 0x01c0_003f, 0x3f, 0]),
            leaf(4, 2, [0x1c00_4143, 0x01c0_003f, 0x1ff, 0]),
            leaf(4, 3, [0x1c03_c163, 0x03c0_003f, 0x1fff, 6]),
            leaf(4, 4, [0; 4]),
        ];
        let before = leaves;
        assert!(HALF.show(&mut leaves));
        assert_eq!(registers(&leaves[4]), [0x1c03_c163, 0x03c0_003f, 0xfff, 6]);
        for other in [0, 1, 2, 3, 5] {
            assert_eq!(leaves[other], before[other]);
        }
    }

    /// Caches of CPUs before leaf 4 are named by their descriptors.
    #[test]
    fn descriptors_of_caches_do_not_say_something_else() {
        let mut leaves = [
            leaf(2, 0, [0x6050_5b01, 0x00dd_dddd, 1, 0x2cb4_304e]),
            leaf(4, 0, [0x1c00_4143, 0x05c0_003f, 0xfff, 1]),
        ];
        assert!(LastLevelCache { bytes: 1 << 20, ways: 4, line_bytes: 64 }.show(&mut leaves));
        assert_eq!(registers(&leaves[0]), [0xff01, 0, 0, 0]);
        assert_eq!(registers(&leaves[1])[1..3], [0x00c0_003f, 0xfff]);
    }

    /// An AMD EPYC: 16 MiB in 16 ways.
    #[test]
    fn an_amd_cpu_says_so_twice() {
        let mut leaves = [
            leaf(2, 0, [0; 4]),
            leaf(0x8000_0006, 0, [0, 0, 0x0200_6140, 0x0080_9140]),
            leaf(0x8000_001d, 0, [0x121, 0x01c0_003f, 0x3f, 0]),
            leaf(0x8000_001d, 3, [0x163, 0x03c0_003f, 0x3fff, 1]),
        ];
        assert!(HALF.show(&mut leaves));
        assert_eq!(registers(&leaves[0]), [0; 4]);
        assert_eq!(registers(&leaves[1]), [0, 0, 0x0200_6140, 8 << 18 | 0x1_140 | 0x8000]);
        assert_eq!(registers(&leaves[2])[2], 0x3f);
        assert_eq!(registers(&leaves[3]), [0x163, 0x03c0_003f, 0xfff, 1]);
    }

    #[test]
    fn where_caches_are_not_described_none_can_be_shown() {
        let mut leaves = [leaf(4, 0, [0; 4]), leaf(1, 0, [1; 4])];
        let before = leaves;
        assert!(!HALF.show(&mut leaves) && leaves == before);
    }
}
