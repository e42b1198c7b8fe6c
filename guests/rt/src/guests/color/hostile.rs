//! Tables that do not end or lie nowhere: an error, in bounded time, and nothing has changed.

use core::sync::atomic::Ordering::SeqCst;

use bulkhead_abi::hypercall::Error;

use super::bench::{Bench, intact, request};
use crate::checks::Checks;

const TABLE: u64 = 0b11;
/// At the last level: a page that EL0 may read, with its access flag.
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
        ("table-in-a-device", 0x0900_0000),
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
