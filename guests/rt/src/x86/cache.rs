//! The caches as CPUID describes them, by subleaf.

use core::arch::x86_64::__cpuid_count;

/// The caches on Intel's processors, and, in the same format, on AMD's.
const INTEL: u32 = 4;
const AMD: u32 = 0x8000_001d;
/// EAX: the largest number of a leaf.
const LARGEST: u32 = 0x8000_0000;

/// Returns EAX, EBX and ECX of a subleaf, from 0 on. There is one for each cache, and then one without a cache.
pub fn subleaf(number: u32) -> [u32; 3] {
    let leaf = match registers(INTEL, 0)[0] {
        0 if registers(LARGEST, 0)[0] >= AMD => AMD,
        _ => INTEL,
    };
    registers(leaf, number)
}

fn registers(leaf: u32, subleaf: u32) -> [u32; 3] {
    let found = __cpuid_count(leaf, subleaf);
    [found.eax, found.ebx, found.ecx]
}
