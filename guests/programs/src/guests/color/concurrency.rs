//! A second VCPU that writes, asks, or changes tables during requests.

use core::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

use abi::hypercall::Error;

use super::bench::{BASE, Bench, PAGE, WORDS, intact, request};
use super::second::while_repeating;
use programs::checks::Checks;
use rt::arch::lock::InterruptLock;
use rt::arch::ram::{self, Words};
use rt::arch::tables::{Entry, Granule, Tables, Use};
use rt::println;

/// Requests that the first VCPU makes.
const REQUESTS: usize = 40;
const PAGES: u64 = 24;
/// Requests that the first VCPU is to get through while the second one asks too, and the number of times that it
/// tries.
const SUCCESSES: u64 = 4;
const TRIES: usize = 10_000;

fn skipped(case: &str) -> Option<()> {
    println!("color: {case} skipped, there is no second VCPU");
    Some(())
}

static WRITTEN: InterruptLock<&[AtomicU64]> = InterruptLock::new(&[]);

/// Increments a counter in each page.
fn write(_round: u64) {
    for page in WRITTEN.with(|words| *words).chunks(WORDS) {
        page[WORDS / 2].fetch_add(1, SeqCst);
    }
}

/// No write is lost while pages move.
pub fn writer(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let (tables, memory) = bench.space(PAGES)?;
    for page in memory.chunks(WORDS) {
        page[WORDS / 2].store(0, SeqCst);
    }
    WRITTEN.with(|words| *words = memory);
    let mut refused = 0;
    let rounds = while_repeating(write, || {
        for number in 0..REQUESTS {
            let result = request(&tables, bench.only(number));
            refused += usize::from(result != PAGES as i64);
        }
        refused += usize::from(request(&tables, 0) != PAGES as i64);
    });
    let Some(rounds) = rounds else { return skipped("writer") };
    checks.equal("refused", refused, 0);
    let counters = memory.chunks(WORDS).map(|page| page[WORDS / 2].load(SeqCst));
    let lost = counters.filter(|&counter| counter != rounds).count();
    checks.check("no-write-is-lost", lost == 0, format_args!("pages={lost} rounds={rounds}"));
    let others = memory.iter().enumerate().filter(|(i, _)| i % WORDS != WORDS / 2);
    let kept = others.map(|(_, word)| word).all(|word| word.load(SeqCst) == word.as_ptr() as u64);
    checks.equal("contents", kept, true);
    checks.equal("free-is-home", bench.at_home(memory), true);
    Some(())
}

static ASKING: InterruptLock<Option<(Tables, [u64; 2])>> = InterruptLock::new(None);
/// The ends of the second VCPU's requests: done, busy, otherwise.
static ENDS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static LAST: AtomicI64 = AtomicI64::new(0);

/// Index in [`ENDS`].
fn end_of(result: i64) -> usize {
    match result {
        _ if result == PAGES as i64 => 0,
        _ if result == Error::Busy as i64 => 1,
        _ => 2,
    }
}

fn ask(round: u64) {
    let Some((tables, colors)) = ASKING.with(|asking| *asking) else { return };
    let result = request(&tables, colors[(round % 2) as usize]);
    ENDS[end_of(result)].fetch_add(1, SeqCst);
    LAST.store(result, SeqCst);
}

/// Two VCPUs ask for different address spaces: each request is done, or refused as busy.
pub fn two_at_once(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let (first, memory) = bench.space(PAGES)?;
    let (second, other_memory) = bench.space(PAGES)?;
    ASKING.with(|asking| *asking = Some((second, [bench.only(0), bench.only(1)])));
    let mut ends = [0; 3];
    let rounds = while_repeating(ask, || {
        for number in 0..TRIES {
            ends[end_of(request(&first, bench.only(number + 1)))] += 1;
            if ends[0] == SUCCESSES {
                break;
            }
        }
    });
    if rounds.is_none() {
        return skipped("two");
    }
    let other_ends = ENDS.each_ref().map(|count| count.load(SeqCst));
    println!(
        "color: two done={} busy={} then done={} busy={}",
        ends[0], ends[1], other_ends[0], other_ends[1]
    );
    checks.equal("first-is-served", ends[0], SUCCESSES);
    checks.check("second-is-served", other_ends[0] > 0, format_args!("ends={other_ends:?}"));
    checks.equal("no-other-ends", (ends[2], other_ends[2]), (0, 0));
    checks.equal("pool", bench.free(), bench.pool - 2 * PAGES);
    checks.equal("free", (request(&first, 0), request(&second, 0)), (PAGES as i64, PAGES as i64));
    checks.equal("free-is-home", bench.at_home(memory) && bench.at_home(other_memory), true);
    checks.equal("contents", intact(memory) && intact(other_memory), true);
    Some(())
}

/// Entries that the second VCPU changes: two of pages, one of a table, and what that was at first.
static CHANGED: InterruptLock<Option<(Entry, Entry, Entry, u64)>> = InterruptLock::new(None);

fn change(round: u64) {
    let Some((first, second, table, descriptor)) = CHANGED.with(|changed| *changed) else { return };
    let page = first.swap(second.load(SeqCst), SeqCst);
    second.store(page, SeqCst);
    match round % 4 {
        0 => table.store(0, SeqCst),
        1 => table.store(0x70_0000_0000 | 0b11, SeqCst),
        // A block that lies in no RAM.
        2 => table.store(0x70_0000_0000 | 1 << 10 | 1 << 6 | 1, SeqCst),
        _ => table.store(descriptor, SeqCst),
    }
}

/// Tables change while a request walks them: some pages are moved or an error is returned, and no
/// harm is done.
pub fn changing_tables(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    const FAR: u64 = BASE + (2 << 20);
    let tables = Tables::new(&mut bench.arena, Granule::Kib4)?;
    let memory: Words = bench.memory(PAGES, PAGE)?;
    let far = bench.memory(1, PAGE)?;
    for page in 0..PAGES {
        let frame = ram::address(memory) + page * PAGE;
        tables.map(&mut bench.arena, BASE + page * PAGE, frame, 3, Use::User)?;
    }
    tables.map(&mut bench.arena, FAR, ram::address(far), 3, Use::User)?;
    let entry = tables.entry(&mut bench.arena, BASE, 3)?;
    let other = tables.entry(&mut bench.arena, BASE + (PAGES - 1) * PAGE, 3)?;
    let table = tables.entry(&mut bench.arena, FAR, 2)?;
    let descriptors = [entry, other, table].map(|entry| entry.load(SeqCst));
    CHANGED.with(|changed| *changed = Some((entry, other, table, descriptors[2])));
    let (mut done, mut refused, mut others) = (0, 0, 0);
    let rounds = while_repeating(change, || {
        for number in 0..REQUESTS {
            match request(&tables, bench.only(number)) {
                0.. => done += 1,
                error if error == Error::BadAddress as i64 => refused += 1,
                _ => others += 1,
            }
        }
    });
    if rounds.is_none() {
        return skipped("changes");
    }
    println!("color: changes done={done} refused={refused}");
    checks.equal("no-other-ends", others, 0);
    for (entry, descriptor) in [entry, other, table].into_iter().zip(descriptors) {
        entry.store(descriptor, SeqCst);
    }
    checks.equal("contents", intact(memory) && intact(far), true);
    checks.equal("free", request(&tables, 0), PAGES as i64 + 1);
    checks.equal("free-is-home", bench.at_home(memory) && bench.at_home(far), true);
    checks.equal("contents", intact(memory) && intact(far), true);
    Some(())
}
