//! Walks compared with a translation of each page alone.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Memory of the guest with words other than 0.
#[derive(Clone, Debug, Default)]
struct Words {
    words: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Tables for Words {
    fn word(&self, address: u64) -> Option<u64> {
        assert!(address.is_multiple_of(8));
        (address < self.bytes).then(|| self.words.get(&address).copied().unwrap_or(0))
    }
}

const MIB: u64 = 1 << 20;
const LEAF: u64 = PRESENT | USER;

impl Words {
    fn new() -> Self {
        Self { words: BTreeMap::new(), bytes: 1 << 16 }
    }

    fn set(&mut self, table: u64, index: u64, word: u64) {
        self.words.insert(table + 8 * index, word);
    }
}

/// Returns all pages of a walk with this budget for each part, and how it ended.
fn walk(memory: &Words, cr3: u64, start: u64, bytes: u64, budget: u32) -> (Vec<u64>, Step) {
    let mut walker = Walker::new(cr3, start, bytes, 64);
    let mut pages = Vec::new();
    loop {
        let mut left = budget;
        match walker.next(memory, &mut left) {
            Step::Pages { address, bytes } => {
                assert!(bytes > 0 && (address | bytes).is_multiple_of(PAGE));
                pages.extend((address..address + bytes).step_by(PAGE as usize));
            }
            Step::Pause => assert_eq!(left, 0),
            end => return (pages, end),
        }
    }
}

/// Translates one virtual address: its page in the guest, if CPL 3 can access it. `Err`: a table is outside.
fn translate(memory: &Words, cr3: u64, address: u64) -> Result<Option<u64>, ()> {
    if (address as i64) << 16 >> 16 != address as i64 {
        return Ok(None);
    }
    let mut table = cr3 & ADDRESS;
    for (level, low) in [39, 30, 21, 12].into_iter().enumerate() {
        let word = memory.word(table + 8 * (address >> low & 511)).ok_or(())?;
        let size = 1 << low;
        if word & 5 != 5 || level == 0 && word & 0x80 != 0 {
            return Ok(None);
        }
        if level == 3 || word & 0x80 != 0 {
            let frame = word & ADDRESS & !if level == 3 { 0 } else { 0x1000 };
            return Ok(frame.is_multiple_of(size).then_some(frame + address % size / PAGE * PAGE));
        }
        table = word & ADDRESS;
    }
    unreachable!("the last level has no tables")
}

#[test]
fn pages_of_all_sizes_are_found_within_the_range() {
    let mut memory = Words::new();
    memory.set(0x1000, 0, 0x2000 | LEAF);
    memory.set(0x2000, 1, 5 << 30 | LARGE | LEAF);
    memory.set(0x2000, 2, 0x3000 | LEAF);
    memory.set(0x3000, 0, (64 * MIB) | LARGE | LARGE_ATTRIBUTE | LEAF);
    memory.set(0x3000, 1, 0x4000 | LEAF);
    memory.set(0x4000, 0, 0x9000 | LARGE | LEAF);
    memory.set(0x4000, 2, 0xa000 | LEAF | 1 << 63);
    let all = walk(&memory, 0x1000, 0, u64::MAX, 3);
    assert_eq!(all.1, Step::Done);
    assert_eq!(all.0.len(), (1 << 18) + 512 + 2);
    assert_eq!(all.0[(1 << 18) + 512..], [0x9000, 0xa000]);
    // The last page of one size, and the first one of the next.
    let part = walk(&memory, 0x1000, (2 << 30) - 1, 2, 1);
    assert_eq!(part, (vec![(6 << 30) - PAGE, 64 * MIB], Step::Done));
    let part = walk(&memory, 0x1018, (2 << 30) + 2 * MIB, 1, 1);
    assert_eq!(part, (vec![0x9000], Step::Done));
    assert_eq!(walk(&memory, 0x1000, 1 << 30, 0, 1), (vec![], Step::Done));
}

#[test]
fn what_cpl_3_cannot_access_is_not_found() {
    let mut memory = Words::new();
    memory.set(0x1000, 0, 0x2000 | LEAF);
    // Not present, for CPL 0, not aligned, and of a size that does not exist.
    for (index, word) in [(0, USER), (1, PRESENT | LARGE), (2, 1 << 21 | LARGE | LEAF)] {
        memory.set(0x2000, index, word);
    }
    memory.set(0x1000, 1, 1 << 39 | LARGE | LEAF);
    // Tables of CPL 0, whatever they contain.
    memory.set(0x1000, 2, 0x2000 | PRESENT);
    assert_eq!(walk(&memory, 0x1000, 0, u64::MAX, 9), (vec![], Step::Done));
}

#[test]
fn both_halves_are_walked_and_nothing_is_between_them() {
    let mut memory = Words::new();
    for (index, table) in [(255, 0x2000), (256, 0x3000), (511, 0x4000)] {
        memory.set(0x1000, index, table | LEAF);
    }
    memory.set(0x2000, 511, 1 << 30 | LARGE | LEAF);
    memory.set(0x3000, 0, 2 << 30 | LARGE | LEAF);
    memory.set(0x4000, 511, 3 << 30 | LARGE | LEAF);
    let upper = HALF.wrapping_neg();
    let found = |start, bytes| walk(&memory, 0x1000, start, bytes, 5).0;
    assert_eq!(found(HALF - 1, 2), [(2 << 30) - PAGE]);
    assert!(found(HALF, upper - HALF).is_empty());
    assert_eq!(found(upper - 1, 2), [2 << 30]);
    assert_eq!(found(u64::MAX, 1), [(4 << 30) - PAGE]);
    assert_eq!(found(u64::MAX, u64::MAX), [(4 << 30) - PAGE], "ranges do not go on at 0");
    assert_eq!(found(0, u64::MAX).len(), 3 << 18);
}

#[test]
fn tables_that_contain_themselves_end() {
    let mut memory = Words::new();
    (0..512).for_each(|index| memory.set(0x1000, index, 0x1000 | LEAF));
    let (pages, end) = walk(&memory, 0x1000, 0, u64::MAX, 1_000);
    // Each page is found once for each way that leads to the table: 64 tables with 512 entries at most.
    assert_eq!(end, Step::TooManyTables);
    assert!(pages.len() <= 64 * 512 && pages.iter().all(|page| *page == 0x1000));
}

#[test]
fn tables_outside_of_the_guest_end_a_walk() {
    let mut memory = Words::new();
    assert_eq!(walk(&memory, 1 << 40, 0, 1, 9), (vec![], Step::Outside));
    memory.set(0x1000, 3, ADDRESS | LEAF);
    assert_eq!(walk(&memory, 0x1000, 0, u64::MAX, 9), (vec![], Step::Outside));
    assert_eq!(walk(&memory, 0x1000, 0, 3 << 39, 9), (vec![], Step::Done), "it is not used");
}

/// A word of a table: most of them name tables nearby.
fn any_word() -> impl Strategy<Value = u64> {
    let near = (0u64..18).prop_map(|page| page * PAGE);
    let flags = prop_oneof![4 => Just(LEAF), 1 => 0u64..256, 1 => Just(LEAF | LARGE)];
    prop_oneof![
        6 => (near, flags).prop_map(|(address, flags)| address | flags),
        2 => (0u64..64).prop_map(|page| page << 21 | LARGE | LEAF),
        1 => any::<u64>(),
    ]
}

/// Indexes of which few are different, so that ways meet.
fn any_index() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0u64), Just(1), Just(255), Just(256), Just(511)]
}

proptest! {
    #[test]
    fn walks_find_what_each_page_alone_translates_to(
        words in prop::collection::vec((0u64..16, any_index(), any_word()), 1..40),
        root in 0u64..16,
        way in [any_index(), any_index(), any_index(), any_index()],
        offset in 0u64..PAGE,
        length in 0u64..6 * PAGE,
        budget in 1u32..7,
    ) {
        let mut memory = Words::new();
        words.iter().for_each(|(table, index, word)| memory.set(table * PAGE, *index, *word));
        let start = way.iter().fold(0, |address, index| address << 9 | index) << 12;
        let start = ((start << 16) as i64 >> 16) as u64 + offset;
        let (found, end) = walk(&memory, root * PAGE, start, length, budget);
        let last = start.saturating_add(length.saturating_sub(1));
        let pages = (start / PAGE..=last / PAGE).map(|page| page * PAGE);
        let mut expected = Vec::new();
        let mut is_outside = false;
        for page in pages.filter(|_| length > 0) {
            match translate(&memory, root * PAGE, page) {
                Ok(page) => expected.extend(page),
                Err(()) => {
                    is_outside = true;
                    break;
                }
            }
        }
        prop_assert_eq!(found, expected);
        prop_assert_eq!(end, if is_outside { Step::Outside } else { Step::Done });
    }

    #[test]
    fn walks_of_any_tables_end_soon(
        words in prop::collection::vec((0u64..16, 0u64..512, any_word()), 1..200),
        start in any::<u64>(),
        bytes in any::<u64>(),
    ) {
        let mut memory = Words::new();
        words.iter().for_each(|(table, index, word)| memory.set(table * PAGE, *index, *word));
        let mut walker = Walker::new(0, start, bytes, 64);
        let mut budget = 64 * 512;
        loop {
            match walker.next(&memory, &mut budget) {
                Step::Pages { .. } => {}
                Step::Pause => prop_assert!(false, "64 tables have no more entries"),
                _ => break,
            }
        }
    }
}
