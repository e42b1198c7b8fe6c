//! `rt-cache`: shows the caches as its registers describe them, and checks that each VCPU selects
//! for itself.
//!
//! ```text
//! cache: level=1 kind=data size=32768 ways=4 line=64 sets=128
//! cache: level=1 kind=instruction size=32768 ways=2 line=64 sets=256
//! cache: level=2 kind=unified size=1048576 ways=16 line=64 sets=1024
//! cache: tree size=1048576 line=64 sets=1024
//! cache: colors=16
//! cache: registers ctr=0x84448004 clidr=0xa200023 ccsidr_read_ticks=0
//! cache: 6 passed, 0 failed
//! ```
//!
//! `ccsidr_read_ticks` is what a read of CCSIDR_EL1 takes beyond a `NOP`: with
//! `-cpu cortex-a53,cntfrq=1000000000` and `-icount shift=0`, instructions of the hypervisor.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use core::time::Duration;

use programs::checks::Checks;
use rt::arch::{cache, cpu, secondary};
use rt::arguments::{self, CacheNode};
use rt::cache::{Shape, all};
use rt::{coloring, println, psci, wait};

const LIMIT: Duration = Duration::from_secs(2);
/// The second VCPU, if there is one.
const SECOND: usize = 1;
/// Selection of the instruction cache of level 1.
const INSTRUCTION: u64 = 1;

/// The caches that the second VCPU found selected after its start, and then after it had selected another one.
static SECOND_FOUND: [AtomicU64; 2] = [const { AtomicU64::new(u64::MAX) }; 2];

fn second(_context: u64) {
    SECOND_FOUND[0].store(cache::csselr(), SeqCst);
    cache::select(INSTRUCTION);
    SECOND_FOUND[1].store(cache::csselr(), SeqCst);
}

fn show() {
    for selection in all(cache::clidr()) {
        cache::select(selection.csselr());
        let shape = Shape::of(cache::ccsidr(), cache::has_ccidx());
        println!(
            "cache: level={} kind={} size={} ways={} line={} sets={}",
            selection.level,
            selection.kind.name(),
            shape.size(),
            shape.ways,
            shape.line,
            shape.sets
        );
    }
    if let Some(CacheNode { size, line, sets }) = arguments::cache_of_tree() {
        println!("cache: tree size={size} line={line} sets={sets}");
    }
    match coloring::geometry() {
        Ok(geometry) => println!("cache: colors={}", geometry.colors()),
        Err(error) => println!("cache: no colours: {error}"),
    }
}

/// The last level stays selected here, whatever the second VCPU does.
fn selections(checks: &mut Checks) {
    let last = all(cache::clidr()).last().map_or(0, |selection| selection.csselr());
    for csselr in [0, INSTRUCTION, last] {
        cache::select(csselr);
        checks.equal("selected", cache::csselr(), csselr);
    }
    // Only level and kind are kept.
    cache::select(!0xf | last);
    checks.equal("selected-more", cache::csselr(), last);
    let ccsidr = cache::ccsidr();
    if psci::affinity_info(SECOND as u64) == psci::OFF {
        checks.equal("second-on", secondary::start(SECOND, second, 0), 0);
        wait::until(LIMIT, || psci::affinity_info(SECOND as u64) == psci::OFF);
        let found = SECOND_FOUND.each_ref().map(|found| found.load(SeqCst));
        checks.equal("second-selects", found, [0, INSTRUCTION]);
        checks.equal("still-selected", cache::csselr(), last);
        checks.equal("still-described", cache::ccsidr(), ccsidr);
    }
}

/// Shows and checks.
pub fn main() {
    let mut checks = Checks::new("cache");
    checks.equal("selected-at-start", cache::csselr(), 0);
    show();
    selections(&mut checks);
    cpu::mask_interrupts();
    let ticks = cache::ccsidr_ticks();
    cpu::unmask_interrupts();
    println!(
        "cache: registers ctr={:#x} clidr={:#x} ccsidr_read_ticks={ticks}",
        cache::ctr(),
        cache::clidr()
    );
    checks.finish();
}
