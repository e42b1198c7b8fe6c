//! Tables of all granules, blocks, and runs of entries with the contiguous hint.

use super::bench::{BASE, Bench, PAGE, intact, request};
use programs::checks::Checks;
use rt::arch::ram;
use rt::arch::tables::{Granule, Tables, Use};
use rt::println;

/// Some pages of this granule, two of them contiguous in virtual addresses, one far away.
fn granule(bench: &mut Bench, checks: &mut Checks, granule: Granule) -> Option<()> {
    const PLACES: [u64; 3] = [0, 1, 1 << 12];
    if !granule.exists() {
        println!("color: {granule:?} skipped, this processor does not have it");
        return Some(());
    }
    let each = granule.bytes() / PAGE;
    let pages = each * PLACES.len() as u64;
    let memory = bench.memory(pages, granule.bytes())?;
    let tables = Tables::new(&mut bench.arena, granule)?;
    for (page, place) in (0..).zip(PLACES) {
        let frame = ram::address(memory) + page * granule.bytes();
        tables.map(&mut bench.arena, BASE + place * granule.bytes(), frame, 3, Use::User)?;
    }
    moves_and_frees(bench, checks, &tables, memory);
    Some(())
}

/// Requests one colour and frees it: all of `memory`, and nothing else, is in the space.
fn moves_and_frees(bench: &Bench, checks: &mut Checks, tables: &Tables, memory: ram::Words) {
    let pages = memory.len() as i64 * 8 / PAGE as i64;
    checks.equal("request", request(tables, bench.extra.bits()), pages);
    checks.equal("spread", bench.spread(memory, bench.extra), true);
    checks.equal("pool", bench.free(), bench.pool - pages as u64);
    checks.equal("contents", intact(memory), true);
    checks.equal("free", request(tables, 0), pages);
    checks.equal("free-is-home", bench.at_home(memory), true);
    checks.equal("contents", intact(memory), true);
}

/// 4 KiB.
pub fn granule_4k(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    granule(bench, checks, Granule::Kib4)
}

/// 16 KiB.
pub fn granule_16k(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    granule(bench, checks, Granule::Kib16)
}

/// 64 KiB.
pub fn granule_64k(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    granule(bench, checks, Granule::Kib64)
}

/// A block of 2 MiB.
pub fn block(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    const BLOCK: u64 = 2 << 20;
    let memory = bench.memory(BLOCK / PAGE, BLOCK)?;
    let tables = Tables::new(&mut bench.arena, Granule::Kib4)?;
    tables.map(&mut bench.arena, BASE, ram::address(memory), 2, Use::User)?;
    moves_and_frees(bench, checks, &tables, memory);
    Some(())
}

/// 16 pages with the contiguous hint.
pub fn contiguous(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    const PAGES: u64 = 16;
    let memory = bench.memory(PAGES, PAGES * PAGE)?;
    let tables = Tables::new(&mut bench.arena, Granule::Kib4)?;
    for page in 0..PAGES {
        let frame = ram::address(memory) + page * PAGE;
        tables.map(&mut bench.arena, BASE + page * PAGE, frame, 3, Use::UserContiguous)?;
    }
    moves_and_frees(bench, checks, &tables, memory);
    Some(())
}
