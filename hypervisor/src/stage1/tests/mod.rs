//! Walks of tables that are built here, against references.

mod linux;
mod random;
mod reference;

use std::collections::BTreeMap;

use super::{Space, Step, Tables, Walker};

/// Words of memory; all others of the RAM are 0.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub words: BTreeMap<u64, u64>,
    /// There is no RAM from here on.
    pub end: u64,
    /// What another CPU writes as soon as a word has been read.
    pub changes: BTreeMap<u64, u64>,
}

impl Memory {
    pub fn new(end: u64) -> Self {
        Self { end, ..Self::default() }
    }

    pub fn set(&mut self, ipa: u64, word: u64) {
        self.words.insert(ipa, word);
    }

    pub fn get(&self, ipa: u64) -> Option<u64> {
        (ipa < self.end).then(|| self.words.get(&ipa).copied().unwrap_or(0))
    }
}

impl Tables for Memory {
    fn word(&mut self, ipa: u64) -> Option<u64> {
        assert!(ipa.is_multiple_of(8), "{ipa:#x}");
        let word = self.get(ipa);
        if let Some(change) = self.changes.remove(&ipa) {
            self.set(ipa, change);
        }
        word
    }
}

/// The pages of a whole walk as `(ipa, bytes)`, in chunks of `budget` entries; and how it ended.
pub fn walk(space: Space, memory: &mut Memory, budget: u32) -> (Vec<(u64, u64)>, Step) {
    let mut walker = Walker::new(space, 1000).expect("a known layout");
    let mut pages = Vec::new();
    let mut left = budget;
    loop {
        match walker.next(memory, &mut left) {
            Step::Pages { ipa, bytes } => pages.push((ipa, bytes)),
            Step::Pause => {
                assert_eq!(left, 0);
                left = budget;
            }
            end => return (pages, end),
        }
    }
}

const PAGE: u64 = 0b11;
const BLOCK: u64 = 0b01;
const TABLE: u64 = 0b11;
const USER: u64 = 1 << 6;
const ACCESSED: u64 = 1 << 10;
const CONTIGUOUS: u64 = 1 << 52;
const NO_USER_BEHIND: u64 = 1 << 61;
const EPD0: u64 = 1 << 7;
const HPD0: u64 = 1 << 41;

#[test]
fn a_table_that_contains_itself_ends_the_walk() {
    let mut memory = Memory::new(1 << 32);
    for entry in 0..512 {
        memory.set(0x8000_0000 + 8 * entry, 0x8000_0000 | TABLE);
    }
    let (pages, end) = walk(Space { ttbr0: 0x8000_0000, tcr: 16 }, &mut memory, 64);
    assert_eq!(end, Step::TooManyTables);
    // On the last level, the descriptor is that of a page; of the kernel, here.
    assert_eq!(pages, []);
}

#[test]
fn permissions_of_tables_count_unless_they_are_disabled() {
    let mut memory = Memory::new(1 << 32);
    memory.set(0x8000_0000, 0x8000_1000 | TABLE | NO_USER_BEHIND);
    memory.set(0x8000_0008, 0x8000_1000 | TABLE);
    memory.set(0x8000_1000, 0x4000_0000 | BLOCK | USER);
    memory.set(0x8000_1008, 0x4020_0000 | BLOCK);
    let tcr = 25;
    let block = (0x4000_0000, 2 << 20);
    let pages = |tcr| walk(Space { ttbr0: 0x8000_0000, tcr }, &mut memory.clone(), 100);
    assert_eq!(pages(tcr), (vec![block], Step::Done));
    assert_eq!(pages(tcr | HPD0), (vec![block, block], Step::Done));
    assert_eq!(pages(tcr | EPD0), (vec![], Step::Done), "no walks with TTBR0");
}

#[test]
fn a_change_during_the_walk_is_seen_or_not() {
    let mut memory = Memory::new(1 << 32);
    memory.set(0x8000_0000, 0x8000_1000 | TABLE);
    memory.set(0x8000_1000, 0x8000_2000 | TABLE);
    memory.set(0x8000_2000, 0x4000_0000 | PAGE | USER);
    memory.set(0x8000_2008, 0x4000_1000 | PAGE | USER);
    // Each word is read once: what replaces it is not mixed with what it was.
    memory.changes.insert(0x8000_1000, 0xffff_ffff_f000 | TABLE);
    memory.changes.insert(0x8000_2000, 0);
    let (pages, end) = walk(Space { ttbr0: 0x8000_0000, tcr: 25 }, &mut memory, 1);
    assert_eq!((pages, end), (vec![(0x4000_0000, 4096), (0x4000_1000, 4096)], Step::Done));
    // And now there is a table outside the memory.
    let (pages, end) = walk(Space { ttbr0: 0x8000_0000, tcr: 25 }, &mut memory, 1);
    assert_eq!((pages, end), (vec![], Step::Done));
}

#[test]
fn unknown_layouts_are_refused() {
    let refused = |tcr| Walker::new(Space { ttbr0: 0, tcr }, 10).is_none();
    assert!(refused(15), "52-bit addresses");
    assert!(refused(16 | 1 << 59), "52-bit descriptors");
    assert!(refused(49), "below the smallest");
    assert!(refused(16 | 3 << 14), "reserved granule");
    assert!(refused(48 | 1 << 14), "no bits left to translate");
    assert!(!refused(48) && !refused(47 | 1 << 14) && !refused(48 | 2 << 14));
}

#[test]
fn threads_of_a_task_share_its_table() {
    let table = |ttbr0| Space { ttbr0, tcr: 0 }.table();
    assert_eq!(table(0x1234_0000_8000_0001), 0x8000_0000);
    assert_eq!(table(0x8000_0000), 0x8000_0000);
}
