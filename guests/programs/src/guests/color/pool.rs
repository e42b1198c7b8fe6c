//! A pool that is too small, and tasks that die without freeing.

use abi::hypercall::Error;

use super::bench::{BASE, Bench, PAGE, intact, request};
use programs::checks::Checks;
use rt::arch::ram;
use rt::arch::tables::Use;

/// More pages than frames: everything is as before, also where some pages had extra colours.
pub fn too_small(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let (tables, memory) = bench.space(4)?;
    checks.equal("fits", request(&tables, bench.only(0)), 4);
    let more = bench.memory(bench.pool, PAGE)?;
    for page in 0..bench.pool {
        let frame = ram::address(more) + page * PAGE;
        tables.map(&mut bench.arena, BASE + (4 + page) * PAGE, frame, 3, Use::User)?;
    }
    let result = request(&tables, bench.extra.bits());
    checks.equal("too-many", result, Error::NoMemory as i64);
    let stays = bench.colors_of(memory).all(|color| color == bench.color(0) as i64);
    checks.equal("back-where-they-were", stays, true);
    checks.equal("back-home", bench.at_home(more), true);
    checks.equal("pool", bench.free(), bench.pool - 4);
    checks.equal("contents", intact(memory) && intact(more), true);
    checks.equal("free", request(&tables, 0), 4 + bench.pool as i64);
    checks.equal("free-is-home", bench.at_home(memory), true);
    Some(())
}

/// All frames of a colour can be had, and not one more.
pub fn too_few_of_a_color(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let frames = bench.free_of(bench.color(0) as usize);
    let (tables, memory) = bench.space(frames)?;
    checks.equal("all-frames", request(&tables, bench.only(0)), frames as i64);
    checks.equal("none-left", bench.free_of(bench.color(0) as usize), 0);
    checks.equal("contents", intact(memory), true);
    checks.equal("free", request(&tables, 0), frames as i64);
    checks.equal("all-left", bench.free_of(bench.color(0) as usize), frames);
    let one_more = bench.memory(1, PAGE)?;
    let frame = ram::address(one_more);
    tables.map(&mut bench.arena, BASE + frames * PAGE, frame, 3, Use::User)?;
    checks.equal("one-too-many", request(&tables, bench.only(0)), Error::NoMemory as i64);
    checks.equal("back-home", bench.at_home(memory) && bench.at_home(one_more), true);
    checks.equal("contents", intact(memory) && intact(one_more), true);
    Some(())
}

/// The pages of a dead task are found by their next owner.
pub fn death(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let (tables, memory) = bench.space(8)?;
    checks.equal("task", request(&tables, bench.only(0)), 8);
    for page in 0..8 {
        let entry = tables.entry(&mut bench.arena, BASE + page * PAGE, 3)?;
        entry.store(0, core::sync::atomic::Ordering::SeqCst);
    }
    checks.equal("dead-task-frees-nothing", request(&tables, 0), 0);
    checks.equal("pool", bench.free(), bench.pool - 8);
    let (next, _) = bench.space(0)?;
    for page in 0..8 {
        let frame = ram::address(memory) + page * PAGE;
        next.map(&mut bench.arena, BASE + page * PAGE, frame, 3, Use::User)?;
    }
    checks.equal("next-owner", request(&next, bench.only(1)), 8);
    checks.equal("pool", bench.free(), bench.pool - 8);
    checks.equal("next-owner-frees", request(&next, 0), 8);
    checks.equal("free-is-home", bench.at_home(memory), true);
    checks.equal("contents", intact(memory), true);
    Some(())
}
