//! Translation tables that change under their users.

use super::instruction::{DSB, ISB, LOAD, STORE, TABLES_WRITTEN, access, write_system};
use super::snippet::Snippet;
use super::values::{Places, value};
use rt::random::Random;

const ENTRY_AT: u32 = 10;
const ENTRY: u32 = 11;
const ADDRESS: u32 = 12;
/// The offset of the tables of levels 2 and 3 that the code may change in its arena, and the window that they map.
const TABLES: u64 = 0x3000;
const WINDOW: u64 = 4 << 30;
const TLBI_VMALLE1: [u32; 5] = [1, 0, 8, 7, 0];
const TLBI_VMALLE1IS: [u32; 5] = [1, 0, 8, 3, 0];
/// The attributes that an entry may have besides address and kind; normal memory, accessed, inner shareable.
const ATTRIBUTES: u64 = 0xfff0_0000_0000_0ffc;
const PLAIN: u64 = 0x704;
/// The offset at which data begin in an arena.
const DATA: u64 = 0x2_0000;

/// Changes an entry, to something that translates or not, and uses it.
pub fn change(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    let data = places.data(random).wrapping_sub(places.alias);
    let tables = places.arena + TABLES;
    match random.below(8) {
        // Tables that contain themselves, and pages in place of tables.
        0 => use_entry(snippet, random, places, Entry::Table, tables),
        1 => use_entry(snippet, random, places, Entry::Table, tables + 0x1000),
        2 => use_entry(snippet, random, places, Entry::Page, tables + 0x1000),
        3 => {
            let device = places.device(random).wrapping_sub(places.device_alias);
            use_entry(snippet, random, places, Entry::Page, device);
        }
        4 => use_entry(snippet, random, places, Entry::Block, data),
        _ => use_entry(snippet, random, places, Entry::Page, data),
    }
}

/// Lets the processor look for tables where there is no memory.
pub fn walk_nowhere(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    let frame = places.nowhere(random);
    use_entry(snippet, random, places, Entry::Table, frame);
}

/// The kind of an entry.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Entry {
    /// Another table, in a table of level 2.
    Table,
    /// A block of 2 MiB, in a table of level 2.
    Block,
    /// A page, in a table of level 3.
    Page,
}

fn use_entry(snippet: &mut Snippet, random: &mut Random, places: &Places, is: Entry, frame: u64) {
    // The first entry of the table of level 2 is the table of level 3.
    let entry = 1 + random.below(511);
    let (table, address) = match is {
        Entry::Page => (TABLES + 0x1000, WINDOW + entry * 0x1000),
        _ => (TABLES, WINDOW + entry * 0x20_0000),
    };
    let kind = match is {
        _ if random.below(16) == 0 => 0,
        Entry::Block => 1,
        _ => 3,
    };
    // A block begins with tables and code.
    let offset = random.below(512) * 8 + if is == Entry::Block { DATA } else { 0 };
    let attributes = if random.below(4) == 0 { random.number() & ATTRIBUTES } else { PLAIN };
    snippet.set(ENTRY_AT, places.arena + places.alias + table + 8 * entry);
    snippet.set(ENTRY, frame & 0xf_ffff_f000 | attributes | kind);
    snippet.push(access(STORE, ENTRY_AT, ENTRY));
    snippet.push(TABLES_WRITTEN);
    let invalidate = if random.below(4) == 0 { TLBI_VMALLE1IS } else { TLBI_VMALLE1 };
    snippet.push(write_system(invalidate, 31));
    snippet.push(DSB);
    snippet.push(ISB);
    snippet.set(ADDRESS, address + offset);
    snippet.set(ENTRY, value(random, places));
    let form = if is == Entry::Table || random.below(2) == 0 { LOAD } else { STORE };
    snippet.push(access(form, ADDRESS, ENTRY));
}
