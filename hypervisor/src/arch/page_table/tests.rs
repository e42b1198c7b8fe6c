//! Tables as they are made, walked and refused.

use super::*;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

#[test]
fn every_page_translates_and_its_neighbours_do_not() {
    let mut table = PageTable::new(Frames::HEAP).unwrap();
    // Starts and ends off block boundaries: pages, blocks, pages.
    let (input, output, bytes) = (2 * MIB - 8192, 6 * MIB - 8192, 4 * MIB + 12288);
    table.map(input, output, bytes, 1 << 54).unwrap();
    for offset in (0..bytes).step_by(4096) {
        let (found, attributes) = table.lookup(input + offset + 5).unwrap();
        assert_eq!(found, output + offset + 5);
        assert_ne!(attributes & 1 << 54, 0);
    }
    assert_eq!(table.lookup(input - 1), None);
    assert_eq!(table.lookup(input + bytes), None);
}

#[test]
fn blocks_are_used_where_both_sides_are_aligned() {
    let mut table = PageTable::new(Frames::HEAP).unwrap();
    table.map(GIB, 3 * GIB, GIB, 0).unwrap();
    assert_eq!(table.lookup(2 * GIB - 1), Some((4 * GIB - 1, ACCESS_FLAG | VALID)));
    table.map(2 * GIB, 5 * GIB + 4096, 4 * MIB, 0).unwrap();
    assert_eq!(table.lookup(2 * GIB).unwrap().0, 5 * GIB + 4096);
}

#[test]
fn what_is_mapped_cannot_be_mapped_again() {
    let mut table = PageTable::new(Frames::HEAP).unwrap();
    table.map(0, 0, 2 * MIB, 0).unwrap();
    assert_eq!(table.map(4096, 0, 4096, 0), Err(MapError::Overlap(4096)));
    assert_eq!(table.map(0, 0, 2 * MIB, 0), Err(MapError::Overlap(0)));
    table.map(4 * MIB, 0, 4096, 0).unwrap();
    assert_eq!(table.map(4 * MIB, 0, 2 * MIB, 0), Err(MapError::Overlap(4 * MIB)));
}

#[test]
fn a_walk_finds_what_was_mapped_and_nothing_else() {
    let mut table = PageTable::new(Frames::HEAP).unwrap();
    let mapped = [(GIB, 2 * GIB, GIB), (6 * MIB, 8 * MIB, 4 * MIB), (12 * MIB, 4096, 8192)];
    for (input, output, bytes) in mapped {
        table.map(input, output, bytes, 1 << 54).unwrap();
    }
    let (mut pages, mut tables) = (0, 0);
    table.walk(0, &mut |found| {
        match found {
            Found::Table { .. } => tables += 1,
            Found::Entries { .. } => {}
            Found::Leaf { input, output, bytes, attributes } => {
                let inside = |m: &&(u64, u64, u64)| m.0 <= input && input + bytes <= m.0 + m.2;
                let (from, to, _) = mapped.iter().find(inside).unwrap();
                assert_eq!(output - to, input - from);
                assert_ne!(attributes & 1 << 54, 0);
                pages += bytes / PAGE_BYTES;
            }
        }
        true
    });
    assert_eq!(pages, (GIB + 4 * MIB + 8192) / PAGE_BYTES);
    // The root, one for the first gigabyte, one for its pages.
    assert_eq!(tables, 3);
    assert!(!table.walk(0, &mut |_| false));
}

#[test]
fn a_walk_goes_on_where_another_one_ended() {
    let mut table = PageTable::new(Frames::HEAP).unwrap();
    for (input, bytes) in [(0, 8192), (2 * MIB, 4 * MIB + 4096), (3 * GIB + 4096, 4096)] {
        table.map(input, input, bytes, 0).unwrap();
    }
    let mut all = Vec::new();
    assert!(table.walk(0, &mut |found| {
        all.push(found);
        true
    }));
    let input = |found: Found| match found {
        Found::Table { input, .. } | Found::Entries { input } | Found::Leaf { input, .. } => input,
    };
    for (number, &first) in all.iter().enumerate() {
        let mut rest = Vec::new();
        table.walk(input(first), &mut |found| {
            rest.push(found);
            true
        });
        // Tables that begin at the same address come again.
        let again = all[..number].iter().filter(|&&other| input(other) == input(first));
        assert!(rest.ends_with(&all[number..]));
        assert_eq!(rest.len(), all.len() - number + again.count());
    }
}

#[test]
fn reserved_pages_are_absent_until_their_entry_is_stored() {
    let mut table = PageTable::new(Frames::HEAP).unwrap();
    let (input, bytes) = (2 * MIB - 8192, 2 * MIB + 12288);
    assert!(table.page(input).is_none());
    table.reserve_pages(input, bytes).unwrap();
    for offset in (0..bytes).step_by(4096) {
        assert_eq!(table.lookup(input + offset), None);
        let entry = table.page(input + offset).unwrap();
        let value = page_entry(GIB + 3 * offset, 1 << 54);
        entry.store(value, Relaxed);
        assert_eq!(table.lookup(input + offset).unwrap().0, GIB + 3 * offset);
        entry.store(hidden(value), Relaxed);
        assert_eq!(table.lookup(input + offset), None);
        assert_eq!(output_of(entry.load(Relaxed)), GIB + 3 * offset);
    }
    // A walk finds them, hidden or not.
    for offset in (0..bytes).step_by(8192) {
        let entry = table.page(input + offset).unwrap();
        entry.store(page_entry(output_of(entry.load(Relaxed)), 1 << 54), Relaxed);
    }
    let mut pages = 0;
    table.walk(0, &mut |found| {
        if let Found::Leaf { input: page, output, bytes: 4096, attributes } = found {
            assert_eq!(output, GIB + 3 * (page - input));
            assert_ne!(attributes & 1 << 54, 0);
            pages += 1;
        }
        true
    });
    assert_eq!(pages * 4096, bytes);
}

#[test]
fn pages_are_not_reserved_inside_blocks_or_out_of_range() {
    let mut table = PageTable::new(Frames::HEAP).unwrap();
    table.map(0, 0, 2 * MIB, 0).unwrap();
    assert_eq!(table.reserve_pages(4096, 4096), Err(MapError::Overlap(4096)));
    assert!(table.page(4096).is_none());
    for (input, bytes) in [(ADDRESS_END, 4096), (ADDRESS_END - 4096, 8192), (!4095, 8192)] {
        assert_eq!(table.reserve_pages(input, bytes), Err(MapError::Range));
    }
}

#[test]
fn bad_ranges_are_refused() {
    let mut table = PageTable::new(Frames::HEAP).unwrap();
    for (input, output, bytes) in
        [(1, 0, 4096), (0, 1, 4096), (0, 0, 1), (ADDRESS_END, 0, 4096), (!4095, 0, 8192)]
    {
        assert_eq!(table.map(input, output, bytes, 0), Err(MapError::Range));
    }
}
