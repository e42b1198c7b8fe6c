//! Tables that do not end or lie nowhere: an error, in bounded time, and nothing has changed.

use core::sync::atomic::Ordering::SeqCst;

use abi::doorbell::{LOCATE, RESULT};
use abi::guest::UART;
use abi::hypercall::Error;

use super::bench::{BASE, Bench, PAGE, intact, request};
use programs::checks::Checks;
use rt::arch::ram;
use rt::arch::tables::{Granule, Tables, Use};
use rt::arch::user::{self, Routine};

const TABLE: u64 = 0b11;
/// An entry at the last level: a page that EL0 may read, with its access flag.
const USER_PAGE: u64 = TABLE | 1 << 6 | 1 << 10;

/// A first table whose entries name itself.
pub fn tables_in_themselves(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    for (check, bits) in [("self-references", TABLE), ("self-references-are-pages", USER_PAGE)] {
        let (tables, memory) = bench.space(4)?;
        for entry in tables.first_entries().iter().skip(1) {
            entry.store(tables.address() | bits, SeqCst);
        }
        checks.equal(check, request(&tables, bench.only(0)), Error::BadAddress as i64);
        checks.equal("pool", bench.free(), bench.pool);
        checks.equal("stays", bench.at_home(memory), true);
        checks.equal("contents", intact(memory), true);
    }
    Some(())
}

/// Tables where there is no RAM.
pub fn tables_nowhere(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let doorbell = bench.doorbell.address();
    for (check, address) in [
        ("table-behind-ram", 0x70_0000_0000),
        ("table-in-a-device", UART),
        ("table-in-the-doorbell", doorbell),
        ("table-at-the-end-of-addresses", 0xffff_ffff_f000),
    ] {
        let (tables, memory) = bench.space(4)?;
        let entry = tables.first_entries().get(1)?;
        entry.store(address | TABLE, SeqCst);
        checks.equal(check, request(&tables, bench.only(0)), Error::BadAddress as i64);
        checks.equal("pool", bench.free(), bench.pool);
        checks.equal("stays", bench.at_home(memory), true);
        checks.equal("contents", intact(memory), true);
    }
    Some(())
}

/// The hypervisor is asked for the colour behind a table that lies in a device of the VM, if it has
/// one there: a device that reports an error when it is read.
pub fn tables_in_a_device(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    const DEVICE: u64 = 0x0c00_0000;
    const DOORBELL: u64 = BASE + PAGE;
    const BEHIND: u64 = BASE + (1 << 30);
    let tables = Tables::new(&mut bench.arena, Granule::Kib4)?;
    let code = bench.arena.allocate(PAGE, PAGE)?;
    user::copy_code(code);
    tables.map(&mut bench.arena, BASE, ram::address(code), 3, Use::UserCode)?;
    tables.map(&mut bench.arena, DOORBELL, bench.doorbell.address(), 3, Use::Device)?;
    tables.first_entries().get(1)?.store(DEVICE | TABLE, SeqCst);
    let arguments = [DOORBELL, BEHIND, LOCATE, RESULT];
    let found = user::run(&tables, BASE, Routine::StoreThenLoad, arguments);
    checks.equal("table-in-a-broken-device", found, Ok(Error::BadAddress.to_x0()));
    Some(())
}
