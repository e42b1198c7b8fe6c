//! The pages that a request moves, and those that it leaves alone.

use abi::hypercall::Error;
use policy::color::ColorSet;

use super::bench::{BASE, Bench, PAGE, intact, request};
use programs::checks::Checks;
use rt::arch::mmio::UART;
use rt::arch::ram;
use rt::arch::tables::{Granule, Tables, Use};

/// Pages of most cases.
const PAGES: u64 = 8;

/// Request, repeat, change, free.
pub fn basic(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let (tables, memory) = bench.space(PAGES)?;
    let pages = PAGES as i64;
    checks.equal("starts-at-home", bench.at_home(memory), true);
    for (check, colors) in [
        ("one-color", bench.only(0)),
        ("the-same-again", bench.only(0)),
        ("another-color", bench.only(1)),
        ("two-colors", bench.only(0) | bench.only(1)),
        ("all-colors", bench.extra.bits()),
    ] {
        checks.equal(check, request(&tables, colors), pages);
        let found: ColorSet = bench
            .colors_of(memory)
            .filter_map(|color| policy::color::Color::new(color as u8))
            .collect();
        let colors = ColorSet::from_bits(colors);
        let all = found.is_subset(colors) && found.len() == colors.len().min(PAGES as u32);
        checks.check(check, all, format_args!("colors={found} expected={colors}"));
        checks.equal("contents", intact(memory), true);
        checks.equal("pool", bench.free(), bench.pool - PAGES);
    }
    checks.equal("free", request(&tables, 0), pages);
    checks.equal("free-is-home", bench.at_home(memory), true);
    checks.equal("free-again", request(&tables, 0), pages);
    let two = ColorSet::from_bits(bench.only(0) | bench.only(1));
    checks.equal("spread", request(&tables, two.bits()), pages);
    checks.equal("spread-evenly", bench.spread(memory, two), true);
    checks.equal("free", request(&tables, 0), pages);
    checks.equal("contents", intact(memory), true);
    Some(())
}

/// Colours that cannot be asked for change nothing.
pub fn invalid(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let (tables, memory) = bench.space(PAGES)?;
    checks.equal("valid", request(&tables, bench.only(0)), PAGES as i64);
    let not_extra = !bench.extra.bits();
    let other_default = bench.default.bits() & not_extra;
    for (check, colors) in [
        ("no-such-color", 1 << 63 & not_extra),
        ("default-color", other_default),
        ("valid-and-invalid", bench.only(1) | 1 << 63 & not_extra),
        ("all-bits", u64::MAX),
    ] {
        if colors != 0 && colors & not_extra != 0 {
            checks.equal(check, request(&tables, colors), Error::Invalid as i64);
            let same = bench.colors_of(memory).all(|color| color == bench.color(0) as i64);
            checks.equal("stays", same, true);
        }
    }
    checks.equal("free", request(&tables, 0), PAGES as i64);
    checks.equal("contents", intact(memory), true);
    Some(())
}

/// Requests move only pages that are present, accessible from EL0, and RAM.
pub fn present_user_ram(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let tables = Tables::new(&mut bench.arena, Granule::Kib4)?;
    let [user, kernel, absent] =
        [bench.memory(1, PAGE)?, bench.memory(1, PAGE)?, bench.memory(1, PAGE)?];
    let doorbell = bench.doorbell.address();
    let arena = &mut bench.arena;
    tables.map(arena, BASE, ram::address(user), 3, Use::User)?;
    tables.map(arena, BASE + PAGE, ram::address(kernel), 3, Use::Kernel)?;
    tables.map(arena, BASE + 2 * PAGE, ram::address(absent), 3, Use::User)?;
    let entry = tables.entry(arena, BASE + 2 * PAGE, 3)?;
    entry.fetch_and(!1, core::sync::atomic::Ordering::SeqCst);
    tables.map(arena, BASE + 3 * PAGE, UART.base(), 3, Use::Device)?;
    tables.map(arena, BASE + 4 * PAGE, doorbell, 3, Use::Device)?;
    tables.map(arena, BASE + (2 << 20), UART.base() & !0x1f_ffff, 2, Use::Device)?;
    checks.equal("only-one-counts", request(&tables, bench.only(0)), 1);
    let colors = bench.colors_of(user).next();
    checks.equal("user-moves", colors, Some(bench.color(0) as i64));
    checks.equal("kernel-stays", bench.at_home(kernel), true);
    checks.equal("absent-stays", bench.at_home(absent), true);
    checks.equal("free", request(&tables, 0), 1);
    checks.equal("contents", [user, kernel, absent].iter().all(|words| intact(words)), true);
    Some(())
}

/// A page that is mapped several times is one page.
pub fn shared(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let (tables, memory) = bench.space(2)?;
    for (alias, page) in [0, 0, 1].into_iter().enumerate() {
        let address = BASE + (4 + alias as u64) * PAGE;
        let frame = ram::address(memory) + page * PAGE;
        tables.map(&mut bench.arena, address, frame, 3, Use::User)?;
    }
    let found = request(&tables, bench.only(0) | bench.only(1));
    checks.check("shared", found >= 2, format_args!("found={found} expected=2 or more"));
    checks.equal("shared-pool", bench.free(), bench.pool - 2);
    let two = ColorSet::from_bits(bench.only(0) | bench.only(1));
    checks.equal("shared-spread", bench.spread(memory, two), true);
    checks.equal("contents", intact(memory), true);
    let found = request(&tables, 0);
    checks.check("free", found >= 2, format_args!("found={found} expected=2 or more"));
    checks.equal("free-is-home", bench.at_home(memory), true);
    Some(())
}
