//! The doorbell page from EL1 and EL0, and accesses that it refuses.

use abi::doorbell::{AUDIT, INFO, LOCATE, MAGIC, MAGIC_VALUE, MARK, REQUEST, RESULT};
use abi::guest::UART;
use abi::hypercall::{Error, VmInfo};

use super::bench::{BASE, Bench, PAGE, intact, request};
use programs::arch::probe::{self, Form, Through};
use programs::checks::Checks;
use rt::arch::ram;
use rt::arch::tables::{Granule, Tables, Use};
use rt::arch::user::{self, Routine};
use rt::hypercall;

/// The answers of the page at EL1.
pub fn kernel(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let doorbell = bench.doorbell;
    for what in [VmInfo::VcpuCount, VmInfo::Colors, VmInfo::ExtraColors, VmInfo::PoolFree] {
        let known = hypercall::vm_info(what).map_or(-1, |value| value as i64);
        checks.equal("info-as-called", doorbell.info(what as u64), known);
    }
    let sum: u64 = bench.extra.iter().map(|color| bench.free_of(color.index())).sum();
    checks.equal("info-of-colors", sum, bench.pool);
    checks.equal("info-of-nothing", doorbell.info(0x3f), Error::Invalid as i64);
    checks.equal("audit-by-page", doorbell.audit(), 0);
    checks.equal("color-of-nothing", doorbell.color_of(0x7f_0000_0000), Error::BadAddress as i64);
    checks.equal("color-of-a-device", doorbell.color_of(UART), Error::BadAddress as i64);
    // Nothing of the program is accessible from EL0.
    checks.equal("request-of-kernel", doorbell.request(bench.only(0)), 0);
    checks.equal(
        "invalid-request",
        doorbell.request(1 << 63 | !bench.extra.bits()),
        Error::Invalid as i64,
    );
    Some(())
}

/// A process with the page mapped asks without a system call; its code moves too.
pub fn user(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    const CODE: u64 = BASE;
    const DOORBELL: u64 = BASE + PAGE;
    const DATA: u64 = BASE + 2 * PAGE;
    const PAGES: u64 = 4;

    let doorbell = bench.doorbell;
    let tables = Tables::new(&mut bench.arena, Granule::Kib4)?;
    let code = bench.arena.allocate(PAGE, PAGE)?;
    let memory = bench.memory(PAGES, PAGE)?;
    user::copy_code(code);
    tables.map(&mut bench.arena, CODE, ram::address(code), 3, Use::UserCode)?;
    tables.map(&mut bench.arena, DOORBELL, doorbell.address(), 3, Use::Device)?;
    for page in 0..PAGES {
        let frame = ram::address(memory) + page * PAGE;
        tables.map(&mut bench.arena, DATA + page * PAGE, frame, 3, Use::User)?;
    }
    // Writes to one register and reads another.
    let ask = |register: u64, value: u64, then: u64| {
        let arguments = [DOORBELL, value, register, then];
        user::run(&tables, CODE, Routine::StoreThenLoad, arguments).map(|result| result as i64)
    };
    let all = PAGES as i64 + 1;
    let color = bench.color(0) as i64;
    checks.equal("user-magic", ask(MARK, 0, MAGIC), Ok(MAGIC_VALUE as i64));
    checks.equal("user-request", ask(REQUEST, bench.only(0), RESULT), Ok(all));
    checks.equal("result-of-another-space", doorbell.result(), Error::TryAgain as i64);
    checks.equal("user-colors", bench.colors_of(memory).all(|found| found == color), true);
    checks.equal("user-code-moved", bench.colors_of(code).next(), Some(color));
    checks.equal("user-locates", ask(LOCATE, DATA + PAGE, RESULT), Ok(color));
    checks.equal(
        "user-locates-nothing",
        ask(LOCATE, DATA + (1 << 30), RESULT),
        Ok(Error::BadAddress as i64),
    );
    checks.equal("user-audit", ask(MARK, 0, AUDIT), Ok(0));
    checks.equal(
        "user-info",
        ask(MARK, 0, INFO + 8 * VmInfo::PoolFree as u64),
        Ok(bench.pool as i64 - all),
    );
    checks.equal(
        "user-invalid",
        ask(REQUEST, !bench.extra.bits(), RESULT),
        Ok(Error::Invalid as i64),
    );
    let half = user::run(&tables, CODE, Routine::LoadWord, [DOORBELL + MAGIC, 0, 0, 0]);
    checks.equal(
        "user-half-a-register",
        half.map_err(|fault| fault.kind()),
        Err("data abort at EL0"),
    );
    checks.equal("user-free", ask(REQUEST, 0, RESULT), Ok(all));
    checks.equal("free-is-home", bench.at_home(memory) && bench.at_home(code), true);
    checks.equal("contents", intact(memory), true);
    checks.equal("free-by-call-too", request(&tables, 0), all);
    Some(())
}

/// Accesses that are none of the page's registers.
pub fn misuse(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    const ABORT: Result<(), &str> = Err("data abort");
    let page = bench.doorbell.address();
    let load = |offset: u64, bytes: usize| {
        let loaded = probe::read(page + offset, bytes, Through::Device);
        loaded.map(drop).map_err(|fault| fault.kind())
    };
    let store = |offset: u64, bytes: usize| {
        probe::write(page + offset, bytes, 0, Through::Device).map_err(|fault| fault.kind())
    };
    for bytes in [1, 2, 4] {
        checks.equal("short-load", load(MAGIC, bytes), ABORT);
        checks.equal("short-store", store(REQUEST, bytes), ABORT);
    }
    for offset in [0x028, 0x038, 0x3f8, 0x800, 0xff8] {
        checks.equal("load-of-no-register", load(offset, 8), ABORT);
        checks.equal("store-to-no-register", store(offset, 8), ABORT);
    }
    for offset in [RESULT, AUDIT, MAGIC, INFO] {
        checks.equal("store-to-read-only", store(offset, 8), ABORT);
    }
    for offset in [REQUEST, MARK, LOCATE] {
        checks.equal("load-of-write-only", load(offset, 8), ABORT);
    }
    for form in [Form::LoadPair, Form::StorePair, Form::LoadPostIndex, Form::LoadExclusive] {
        let found = probe::access(page + RESULT, form, Through::Device);
        checks.equal("odd-access", found.map_err(|fault| fault.kind()), ABORT);
    }
    Some(())
}
