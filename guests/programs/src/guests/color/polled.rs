//! `rt-color` on x86-64: requests for colours of a Linux/KVM guest.
//!
//! Boot arguments: `case` (`basic`), `extra`: the extra colours of the VM, at least two; `rounds` (100), `ms` (1000).
//!
//! - `basic`: pages get colours, change them and go home, and keep what is in them;
//! - `invalid`: colours that are none of the VM's, and addresses that are not there;
//! - `small`: more pages than there are frames, all of which go back;
//! - `writer`: the second VCPU writes to all pages while they move, `rounds` times;
//! - `flood`: requests without end, for `ms` milliseconds;
//! - `bench`: the times of requests, `rounds` times.
//!
//! ```text
//! color: case=basic pages=128
//! color: 9 passed, 0 failed
//! ```

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};

use abi::hypercall::Error;
use abi::limits::PAGE_BYTES;
use policy::color::ColorSet;
use rt::arch::{call, counter, cpu, servers_start};
use rt::{arguments, println};

/// Pages of the data.
const PAGES: usize = 128;
const WORDS: usize = PAGE_BYTES as usize / 8;

/// The data that move.
#[repr(align(4096))]
struct Data([[AtomicU64; WORDS]; PAGES]);

static DATA: Data = Data([const { [const { AtomicU64::new(0) }; WORDS] }; PAGES]);
/// The second VCPU is to end.
static STOP: AtomicBool = AtomicBool::new(false);
/// The second VCPU has written to all pages this number of times, and has ended.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicBool = AtomicBool::new(false);
/// Words that were not as the second VCPU had left them.
static LOST: AtomicU64 = AtomicU64::new(0);
/// Checks that passed and that failed.
static CHECKS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

fn equal<T: PartialEq + core::fmt::Debug>(what: &str, found: T, expected: T) {
    let fails = found != expected;
    CHECKS[usize::from(fails)].fetch_add(1, SeqCst);
    if fails {
        println!("color: {what} FAILED found={found:?} expected={expected:?}");
    }
}

fn start() -> u64 {
    &raw const DATA as u64
}

/// Requests colours for pages of the data.
fn request(colors: ColorSet, first: usize, pages: usize) -> i64 {
    call::request_colors(
        colors.bits(),
        start() + first as u64 * PAGE_BYTES,
        pages as u64 * PAGE_BYTES,
    )
}

/// Returns the number of words that are not as [`fill`] has written them.
fn wrong() -> usize {
    let words = DATA.0.iter().flatten().enumerate();
    words.filter(|(number, word)| word.load(SeqCst) != !(*number as u64)).count()
}

fn fill() {
    let words = DATA.0.iter().flatten().enumerate();
    words.for_each(|(number, word)| word.store(!(number as u64), SeqCst));
}

/// Returns the extra colours, and the lowest one of them alone.
fn extra() -> (ColorSet, ColorSet) {
    let all: Option<ColorSet> = arguments::text("extra").and_then(|it| it.parse().ok());
    let all = all.unwrap_or(ColorSet::EMPTY);
    (all, all.iter().take(1).collect())
}

fn basic() {
    let (all, one) = extra();
    let pages = PAGES as i64;
    fill();
    for (what, colors, count) in [
        ("some", one, PAGES / 4),
        ("all", all, PAGES),
        ("again", all, PAGES),
        ("others", all - one, PAGES / 2),
        ("home", ColorSet::EMPTY, PAGES),
    ] {
        equal(what, request(colors, 0, count), count as i64);
        equal(what, wrong(), 0);
    }
    // The stack, from which this is called, and the program itself.
    let program = (start() & !0x1f_ffff, 2 << 20);
    let found = call::request_colors(all.bits(), program.0, program.1);
    equal("program", found > pages || found == Error::NoMemory as i64, true);
    equal("program", wrong(), 0);
}

fn invalid() {
    let (all, one) = extra();
    fill();
    let others = ColorSet::from_bits(!all.bits());
    for colors in [others, others | one, ColorSet::from_bits(!0)] {
        equal("colours", request(colors, 0, PAGES), Error::Invalid as i64);
    }
    for (address, bytes) in [(0, 1 << 20), (1 << 46, u64::MAX), (u64::MAX, 1), (start(), 0)] {
        equal("nowhere", call::request_colors(all.bits(), address, bytes), 0);
    }
    equal("contents", wrong(), 0);
    equal("page", call::request_colors(one.bits(), start() + 5, 1), 1);
}

fn small() {
    let (all, one) = extra();
    fill();
    equal("before", request(all, 0, 8), 8);
    for _ in 0..3 {
        equal("too many", request(one, 0, PAGES), Error::NoMemory as i64);
        equal("contents", wrong(), 0);
    }
    equal("after", request(one, 0, 8), 8);
    equal("contents", wrong(), 0);
}

/// Writes to all pages again and again.
fn write() {
    let mut round = 0;
    while !STOP.load(SeqCst) {
        for page in &DATA.0 {
            if page[1].load(SeqCst) != round {
                LOST.fetch_add(1, SeqCst);
            }
            page[1].store(round + 1, SeqCst);
        }
        round += 1;
        WRITTEN.store(round, SeqCst);
    }
    ENDED.store(true, SeqCst);
}

fn writer(rounds: u64) {
    let (all, one) = extra();
    while WRITTEN.load(SeqCst) == 0 {
        cpu::relax();
    }
    for round in 0..rounds {
        let colors = [all, all - one, ColorSet::EMPTY][round as usize % 3];
        let found = request(colors, 0, PAGES);
        if found != PAGES as i64 {
            equal("moved", found, PAGES as i64);
        }
    }
    STOP.store(true, SeqCst);
    while !ENDED.load(SeqCst) {
        cpu::relax();
    }
    let written = WRITTEN.load(SeqCst);
    println!("color: written={written}");
    equal("lost", LOST.load(SeqCst), 0);
    let wrong = DATA.0.iter().filter(|page| page[1].load(SeqCst) != written).count();
    equal("written", wrong, 0);
}

fn flood(ms: u64) {
    let (all, one) = extra();
    let end = servers_start() + ms * 1_000_000;
    let mut found = 0;
    while counter::now() < end {
        for colors in [one, all - one] {
            found += request(colors, 0, 16).max(0);
        }
    }
    println!("color: found={found}");
    equal("some", found > 0, true);
}

fn bench(rounds: u64) {
    let (all, _) = extra();
    fill();
    for _ in 0..rounds {
        for pages in [PAGES / 4, PAGES / 2, PAGES] {
            for (what, colors) in [("move", all), ("stay", all), ("home", ColorSet::EMPTY)] {
                let before = counter::now();
                let found = request(colors, 0, pages);
                let time = counter::now() - before;
                println!("color: {what} pages={found} ns={time}");
            }
        }
    }
    equal("contents", wrong(), 0);
}

/// Runs the case.
pub fn main() {
    let case = arguments::text("case").unwrap_or("basic");
    if cpu::index() > 0 {
        return if case == "writer" {
            write()
        };
    }
    println!("color: case={case} pages={PAGES}");
    match case {
        "basic" => basic(),
        "invalid" => invalid(),
        "small" => small(),
        "writer" => writer(arguments::number("rounds", 100)),
        "bench" => bench(arguments::number("rounds", 100)),
        "flood" => flood(arguments::number("ms", 1000)),
        _ => equal("case", case, "one that is known"),
    }
    let [passed, failed] = CHECKS.each_ref().map(|it| it.load(SeqCst));
    println!("color: {passed} passed, {failed} failed");
}
