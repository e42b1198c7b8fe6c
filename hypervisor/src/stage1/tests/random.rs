//! Random tables: the walk finds what translation of each address finds.

use proptest::prelude::*;

use super::reference::pages;
use super::*;

const PAGE_BITS: [u32; 3] = [12, 16, 14];
const BASE: u64 = 0x4000_0000;
/// Tables in the memory.
const TABLES: u64 = 6;

fn table_at(number: u64) -> u64 {
    BASE + number * 0x1_0000
}

/// Descriptors that often make sense: tables point to tables.
fn descriptor() -> impl Strategy<Value = u64> {
    let bits = any::<u64>();
    prop_oneof![
        4 => (0..TABLES, bits).prop_map(|(table, bits)| {
            let denies = if bits & 7 == 0 { NO_USER_BEHIND } else { 0 };
            table_at(table) | TABLE | denies | bits & USER
        }),
        2 => bits.prop_map(|bits| bits & (0xf_ffff << 28 | USER | ACCESSED | CONTIGUOUS) | BLOCK),
        2 => bits.prop_map(|bits| bits & 0x0fff_ffff_f000 | USER | PAGE),
        1 => bits,
    ]
}

/// Address spaces with these log2 of numbers of pages.
fn space(pages: std::ops::RangeInclusive<u32>) -> impl Strategy<Value = Space> {
    (0..3u64, pages, 0..TABLES, any::<[bool; 3]>(), any::<u16>()).prop_map(
        |(granule, pages, table, flags, asid)| {
            let bits = (PAGE_BITS[granule as usize] + pages).clamp(16, 48);
            let epd0 = if flags == [true; 3] { EPD0 } else { 0 };
            let hpd0 = if flags[0] { HPD0 } else { 0 };
            let tcr = u64::from(64 - bits) | granule << 14 | epd0 | hpd0;
            let ttbr0 = table_at(table) | u64::from(asid) << 48 | u64::from(asid & 1);
            Space { ttbr0, tcr }
        },
    )
}

/// Tables of which no entry from `entries` on is used, of 64 KiB.
fn memory(entries: u64) -> impl Strategy<Value = Memory> {
    let entry = prop_oneof![3 => 0..entries.min(16), 1 => 0..entries];
    prop::collection::vec((0..TABLES, entry, descriptor()), 0..60).prop_map(|words| {
        // The last table lies where there is no RAM.
        let mut memory = Memory::new(table_at(TABLES - 1));
        for (table, entry, word) in words {
            memory.set(table_at(table) + 8 * entry, word);
        }
        memory
    })
}

/// The first page behind the lowest `entries` entries of every table, on all levels.
fn few_addresses(space: Space, entries: u64) -> Vec<u64> {
    let bits = 64 - (space.tcr & 63) as u32;
    let page_bits = PAGE_BITS[(space.tcr >> 14 & 3) as usize];
    let mut addresses = vec![0];
    for low in (page_bits..bits).step_by(page_bits as usize - 3).rev() {
        let entries = entries.min(1 << (bits - low).min(8));
        addresses = addresses
            .iter()
            .flat_map(|address| (0..entries).map(move |entry| address | entry << low))
            .collect();
    }
    addresses
}

proptest! {
    #[test]
    fn the_walk_finds_what_translation_of_each_page_finds(
        space in space(6..=16),
        mut memory in memory(0x2000),
        budget in 1..2000u32,
    ) {
        let page_bits = PAGE_BITS[(space.tcr >> 14 & 3) as usize];
        let bits = 64 - (space.tcr & 63) as u32;
        let vas = (0..1u64 << (bits - page_bits)).map(|page| page << page_bits);
        let expected = pages(space, &memory, vas);
        prop_assert_eq!(walk(space, &mut memory, budget), (expected, Step::Done));
    }

    #[test]
    fn the_walk_goes_through_all_levels(
        space in space(1..=36),
        mut memory in memory(5),
        budget in 1..2000u32,
    ) {
        let expected = pages(space, &memory, few_addresses(space, 5).into_iter());
        prop_assert_eq!(walk(space, &mut memory, budget), (expected, Step::Done));
    }

    #[test]
    fn any_registers_and_any_memory_end(
        ttbr0 in any::<u64>(),
        tcr in any::<u64>(),
        words in prop::collection::vec(any::<u64>(), 1..64),
        tables in 0..64u32,
    ) {
        struct Noise(Vec<u64>);
        impl Tables for Noise {
            fn word(&mut self, ipa: u64) -> Option<u64> {
                let index = (ipa / 8) as usize % (self.0.len() + 1);
                // Mostly tables, so that the walk goes deep.
                self.0.get(index).map(|word| word | 3)
            }
        }
        let mut noise = Noise(words);
        if let Some(mut walker) = Walker::new(Space { ttbr0, tcr }, tables) {
            // Entries of all tables that it may visit, of the largest kind.
            let mut budget = (tables + 1) * 0x2000;
            loop {
                match walker.next(&mut noise, &mut budget) {
                    Step::Pages { ipa, bytes } => {
                        prop_assert!(bytes.is_power_of_two() && ipa.is_multiple_of(bytes));
                    }
                    Step::Pause => prop_assert!(false, "more entries than tables have"),
                    Step::Done | Step::TooManyTables => break,
                }
            }
        }
    }
}
