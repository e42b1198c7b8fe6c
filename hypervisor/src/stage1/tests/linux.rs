//! Address spaces as Linux lays them out (Documentation/arch/arm64/memory.rst): which bits
//! of a virtual address select the entry on each level.

use super::*;

const ROOT: u64 = 0x4800_0000;
const TARGET: u64 = 0x5000_0000;

/// Bits `[high:low]` of an address.
fn field(address: u64, high: u32, low: u32) -> u64 {
    address >> low & ((1 << (high - low + 1)) - 1)
}

/// Maps an address by fields from the first level on; tables are 64 KiB apart.
fn map(memory: &mut Memory, va: u64, fields: &[(u32, u32)], target: u64, is_page: bool) {
    let mut table = ROOT;
    for (number, &(high, low)) in fields.iter().enumerate() {
        let entry = table + 8 * field(va, high, low);
        if number + 1 == fields.len() {
            let kind = if is_page { PAGE } else { BLOCK };
            memory.set(entry, target | kind | USER | ACCESSED);
        } else {
            let next = match memory.get(entry) {
                Some(0) | None => ROOT + 0x10000 * (1 + memory.words.len() as u64),
                Some(descriptor) => descriptor & 0xffff_ffff_0000,
            };
            memory.set(entry, next | TABLE);
            table = next;
        }
    }
}

/// A task of program, heap and stack, with a huge page of `huge` bytes in the heap.
fn check(tcr: u64, fields: &[(u32, u32)], bits: u32, page: u64, huge: u64) {
    let mut memory = Memory::new(1 << 40);
    let top = (1 << bits) - page;
    let vas = [0x40_0000, 0x40_0000 + page, 0x1200_0000, top - page, top];
    for (number, &va) in vas.iter().enumerate() {
        map(&mut memory, va, fields, TARGET + number as u64 * page, true);
    }
    let heap = 0x4000_0000;
    map(&mut memory, heap, &fields[..fields.len() - 1], 4 * huge, false);
    let mut expected: Vec<(u64, u64)> =
        (0..5).map(|number| (TARGET + number * page, page)).collect();
    expected.insert(3, (4 * huge, huge));
    // ASID 77, and translations common to all CPUs.
    let space = Space { ttbr0: ROOT | 77 << 48 | 1, tcr };
    assert_eq!(walk(space, &mut memory, 7), (expected, Step::Done));
}

#[test]
fn pages_of_4k_with_39_bits() {
    check(25, &[(38, 30), (29, 21), (20, 12)], 39, 0x1000, 2 << 20);
}

#[test]
fn pages_of_4k_with_48_bits() {
    check(16, &[(47, 39), (38, 30), (29, 21), (20, 12)], 48, 0x1000, 2 << 20);
}

#[test]
fn pages_of_64k_with_42_bits() {
    check(22 | 1 << 14, &[(41, 29), (28, 16)], 42, 0x1_0000, 512 << 20);
}

#[test]
fn pages_of_64k_with_48_bits() {
    check(16 | 1 << 14, &[(47, 42), (41, 29), (28, 16)], 48, 0x1_0000, 512 << 20);
}

#[test]
fn pages_of_16k_with_36_bits() {
    check(28 | 2 << 14, &[(35, 25), (24, 14)], 36, 0x4000, 32 << 20);
}

#[test]
fn pages_of_16k_with_47_bits() {
    check(17 | 2 << 14, &[(46, 36), (35, 25), (24, 14)], 47, 0x4000, 32 << 20);
}

#[test]
fn blocks_of_1g_and_contiguous_hints_are_pages_like_others() {
    let mut memory = Memory::new(1 << 40);
    memory.set(ROOT + 8, 0x8000_0000 | BLOCK | USER | ACCESSED);
    memory.set(ROOT + 16, 0x4801_0000 | TABLE);
    for entry in 0..16 {
        let block = 0x1_0000_0000 + (entry << 21);
        memory.set(0x4801_0000 + 8 * entry, block | BLOCK | USER | CONTIGUOUS);
    }
    let mut expected = vec![(0x8000_0000, 1 << 30)];
    expected.extend((0..16).map(|entry| (0x1_0000_0000 + (entry << 21), 2 << 20)));
    let space = Space { ttbr0: ROOT, tcr: 25 };
    assert_eq!(walk(space, &mut memory, 100), (expected, Step::Done));
}
