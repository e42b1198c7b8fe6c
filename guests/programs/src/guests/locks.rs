//! `rt-locks`: resources that VMs share, and global critical sections (`abi::hypercall`).
//!
//! Boot argument `locks.role`:
//!
//! - `bench` (what holds otherwise): what the calls cost, counted in ticks of the virtual counter as
//!   `rt-bench` does, in the same lines; needs the resource `bus`;
//! - `holder`: has `bus` for a while, makes mistakes meanwhile, and turns off while it has it again;
//! - `waiter`: waits for `bus` twice, the second time for one whose owner is off. Both need the resource
//!   `own`, which `holder` alone may open;
//! - `greedy`: is in critical sections for longer than planned, with `bus` and without;
//! - `patient`: waits for `bus` while `greedy` has it;
//! - `turns`: two VCPUs take turns with `bus` for `locks.ms` (100), as fast as they are let, and have it for
//!   `locks.us` (100) each time;
//! - `leaver`: turns off while it waits for `bus`;
//! - `stranger`: may open `bus`, but the plan knows of no sections.
//!
//! ```text
//! locks: lock twice ok
//! locks: 15 passed, 0 failed
//! ```

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use abi::hypercall::{
    Error, GCS_FINISH, GCS_START, LOCK, LOCK_DESTROY, LOCK_GRANTED, LOCK_HELD, LOCK_INTERRUPT,
    LOCK_LOST, LOCK_OPEN, LOCK_ORPHANED, LOCK_TRY, LOCK_WAITS, TRACE_MARK, UNLOCK, resource_name,
};

use programs::arch::bench::{baseline, hvc_with, smc};
use programs::checks::Checks;
use rt::arch::smccc::hvc;
use rt::arch::{counter, cpu, secondary};
use rt::sleep::sleep_until;
use rt::time::Clock;
use rt::{arguments, gic, interrupts, println, wait};

/// Number of times that each figure is measured.
const RUNS: usize = 16;
/// The time for which `holder` has the resource each time.
const HELD: Duration = Duration::from_millis(30);
/// Later than `holder` has begun.
const LATER: Duration = Duration::from_millis(10);
/// The time for which `greedy` is in its sections.
const TOO_LONG: Duration = Duration::from_millis(20);
/// The time from one request of `patient` to the next.
const SHORTLY: Duration = Duration::from_micros(100);
/// Longest wait for an interrupt.
const PATIENCE: Duration = Duration::from_secs(2);

/// A name in two registers; all of them here are short enough.
fn packed(name: &str) -> [u64; 2] {
    resource_name(name.as_bytes()).unwrap_or_default()
}

/// Results in `x0`, as a number, and `x1`.
fn call(function: u32, [x1, x2]: [u64; 2]) -> (i64, u64) {
    let [x0, x1, ..] = hvc(function.into(), [x1, x2, 0, 0, 0, 0, 0]);
    (x0 as i64, x1)
}

/// The rows in the order of the calls, all of them expected to succeed.
const ROWS: [&str; 8] = [
    "lock_open_new",
    "lock_open",
    "lock",
    "unlock",
    "trylock",
    "lock_destroy",
    "gcs_start",
    "gcs_finish",
];

/// Functions that do not exist, one for each way to see that: behind Bulkhead's own, of each owner that has some,
/// of others, and numbers that are no function at all.
const UNKNOWN: [u32; 12] = [
    0xc600_000e,
    0xc600_ffff,
    0x8600_0002,
    0x8600_ff00,
    0x8400_00ff,
    0xc400_00ff,
    0x8500_00ff,
    0xc500_00ff,
    0x8000_00ff,
    0xb200_0000,
    0,
    u32::MAX,
];

/// Prints the cost of a call that has this result whatever its function is; returns the number of calls with another one.
fn bench_calls(name: &str, expected: i64, calls: impl Iterator<Item = (u64, u64)>) -> u64 {
    let nop = baseline();
    let (mut min, mut max, mut faults) = (u64::MAX, 0, 0);
    for (ticks, result) in calls {
        faults += u64::from(result as i64 != expected);
        (min, max) = (min.min(ticks - nop), max.max(ticks - nop));
    }
    println!("bench: {name} min={min} max={max} runs={RUNS}");
    faults
}

fn bench() {
    cpu::mask_interrupts();
    let nop = baseline();
    let bus = packed("bus");
    let mut faults = 0;
    let mut found = [(u64::MAX, 0); ROWS.len()];
    for _ in 0..RUNS {
        let one = [0, 5];
        let calls = [
            (Some(0), LOCK_OPEN, bus),
            (Some(1), LOCK_OPEN, bus),
            (Some(2), LOCK, one),
            (Some(3), UNLOCK, one),
            (Some(4), LOCK_TRY, one),
            (None, UNLOCK, one),
            (Some(5), LOCK_DESTROY, [0, 0]),
            (Some(6), GCS_START, [0, 0]),
            (Some(7), GCS_FINISH, [0, 0]),
        ];
        for (row, function, arguments) in calls {
            let (ticks, result) = hvc_with(function, arguments);
            faults += u64::from(result != 0);
            if let Some((min, max)) = row.and_then(|row: usize| found.get_mut(row)) {
                let ticks = ticks - nop;
                (*min, *max) = ((*min).min(ticks), (*max).max(ticks));
            }
        }
    }
    for (name, (min, max)) in ROWS.iter().zip(found) {
        println!("bench: {name} min={min} max={max} runs={RUNS}");
    }
    let often = |functions: &'static [u32]| (0..RUNS).flat_map(move |_| functions);
    let no = Error::NotSupported as i64;
    let by_hvc = |&function: &u32| hvc_with(function, [0, 0]);
    faults += bench_calls("hvc_unknown", no, often(&UNKNOWN).map(by_hvc));
    faults += bench_calls("smc_unknown", no, often(&UNKNOWN).map(|&function| smc(function)));
    faults += bench_calls("trace_mark", 0, often(&[TRACE_MARK]).map(by_hvc));
    println!("bench: done faults={faults}");
}

/// Opens a resource for the checks.
fn open(checks: &mut Checks, name: &str) -> u64 {
    let (resource, _) = call(LOCK_OPEN, packed(name));
    checks.check(name, resource >= 0, format_args!("error={resource}"));
    resource as u64
}

fn holder() {
    let mut checks = Checks::new("locks");
    let (bus, own) = (open(&mut checks, "bus"), open(&mut checks, "own"));
    checks.equal("unknown name", call(LOCK_OPEN, packed("bu")).0, Error::Denied as i64);
    checks.equal("lock", result(LOCK, bus, 3), LOCK_HELD as i64);
    checks.equal("lock twice", result(LOCK, bus, 3), Error::AlreadyHeld as i64);
    checks.equal("nested", result(LOCK, own, 3), Error::Nested as i64);
    checks.equal("nested trylock", result(LOCK_TRY, own, 3), Error::Nested as i64);
    checks.equal("unlock by another", result(UNLOCK, bus, 4), Error::NotOwner as i64);
    checks.equal("trylock by another", result(LOCK_TRY, bus, 4), Error::Busy as i64);
    checks.equal("destroy while held", result(LOCK_DESTROY, bus, 0), Error::Busy as i64);
    for number in [2, 16, 63, 64, u64::MAX, 1 << 32] {
        checks.equal("no such resource", result(LOCK, number, 0), Error::Denied as i64);
        checks.equal("unlock of none", result(UNLOCK, number, 0), Error::Denied as i64);
    }
    for task in [64, 255, u64::MAX, 1 << 32 | 3] {
        checks.equal("no such task", result(LOCK, own, task), Error::Invalid as i64);
    }
    checks.equal("nobody waited", result(LOCK_GRANTED, 0, 0), Error::TryAgain as i64);
    // As many waiters of one VCPU as there can be, and all of them are served in their order.
    for task in (0..64).filter(|task| *task != 3) {
        checks.equal("waits", result(LOCK, bus, task), LOCK_WAITS as i64);
    }
    checks.equal("waits twice", result(LOCK, bus, 9), Error::AlreadyWaits as i64);
    checks.equal("waits elsewhere", result(LOCK, own, 9), Error::AlreadyWaits as i64);
    wait::pause(HELD);
    let mut last = 3;
    for task in (0..64).filter(|task| *task != 3) {
        checks.equal("unlock", result(UNLOCK, bus, last), 0);
        checks.equal("in order", result(LOCK_GRANTED, 0, 0), task as i64);
        last = task;
    }
    checks.equal("unlock", result(UNLOCK, bus, last), 0);
    // The other VM has it now; its turn ends, and this one dies with it.
    checks.check("again", result(LOCK, bus, 0) >= 0, format_args!(""));
    let got = wait::until(PATIENCE, || result(LOCK_GRANTED, 0, 0) == 0);
    checks.check("got again", got, format_args!("after {PATIENCE:?}"));
    for _ in 0..3 {
        call(GCS_START, [0, 0]);
    }
    wait::pause(HELD);
    checks.finish();
}

fn waiter() {
    let mut checks = Checks::new("locks");
    interrupts::enable();
    gic::enable(LOCK_INTERRUPT);
    interrupts::set_handler(LOCK_INTERRUPT, |_, _| {});
    cpu::unmask_interrupts();
    let bus = open(&mut checks, "bus");
    checks.equal("no right", call(LOCK_OPEN, packed("own")).0, Error::Denied as i64);
    wait::pause(LATER);
    for (turn, expected) in [("first", LOCK_HELD), ("second", LOCK_ORPHANED)] {
        checks.equal("waits", call(LOCK, [bus, 0]).0, LOCK_WAITS as i64);
        let mut granted = call(LOCK_GRANTED, [0, 0]);
        let mut waits = 0;
        while granted.0 < 0 && waits < 1000 {
            cpu::wait_for_interrupt();
            granted = call(LOCK_GRANTED, [0, 0]);
            waits += 1;
        }
        checks.equal(turn, granted, (0, expected));
        wait::pause(LATER);
        checks.equal("unlock", call(UNLOCK, [bus, 0]).0, 0);
        wait::pause(LATER);
    }
    checks.equal("nobody has it", call(LOCK_TRY, [bus, 0]).0, LOCK_HELD as i64);
    checks.finish();
}

/// A call with a resource and a task: its result.
fn result(function: u32, x1: u64, x2: u64) -> i64 {
    call(function, [x1, x2]).0
}

/// Takes a resource, and waits for the resource if need be. Returns true if the guest has it then.
fn acquire(resource: u64) -> bool {
    match result(LOCK, resource, 0) as u64 {
        LOCK_HELD | LOCK_ORPHANED => true,
        LOCK_WAITS => wait::until(PATIENCE, || result(LOCK_GRANTED, 0, 0) == 0),
        _ => false,
    }
}

/// Waits with WFI, and hears of nothing but its timer.
fn sleep_for(time: Duration) {
    interrupts::enable();
    sleep_until(counter::now() + Clock::of_machine().ticks(time.as_nanos() as u64));
}

fn greedy() {
    let mut checks = Checks::new("locks");
    let bus = open(&mut checks, "bus");
    checks.equal("in none", result(GCS_FINISH, 0, 0), Error::NotOwner as i64);
    // With others waiting, and a VCPU above: none of these lasts as long as the guest likes.
    for _ in 0..2 {
        checks.check("lock", acquire(bus), format_args!("after {PATIENCE:?}"));
        checks.equal("start", result(GCS_START, 0, 0), 0);
        wait::pause(TOO_LONG);
        checks.equal("lost", result(UNLOCK, bus, 0), Error::NotOwner as i64);
        checks.equal("over", result(GCS_FINISH, 0, 0), Error::NotOwner as i64);
        wait::pause(TOO_LONG);
    }
    // Short ones are as before.
    checks.check("lock", acquire(bus), format_args!("after {PATIENCE:?}"));
    checks.equal("unlock", result(UNLOCK, bus, 0), 0);
    // Nor does one in which it waits.
    checks.check("lock", acquire(bus), format_args!("after {PATIENCE:?}"));
    sleep_for(TOO_LONG);
    checks.equal("lost asleep", result(UNLOCK, bus, 0), Error::NotOwner as i64);
    checks.finish();
    // Off in a section that it never leaves.
    call(GCS_START, [0, 0]);
    wait::pause(TOO_LONG);
}

/// Asks until another owner has the resource. Returns true if the guest waits then.
fn line_up(bus: u64) -> bool {
    let mut waits = false;
    wait::until(PATIENCE, || {
        waits = result(LOCK, bus, 0) == LOCK_WAITS as i64;
        let ends = waits || result(UNLOCK, bus, 0) != 0;
        // Not more often than planned.
        wait::pause(SHORTLY);
        ends
    });
    waits
}

fn patient() {
    let mut checks = Checks::new("locks");
    let bus = open(&mut checks, "bus");
    checks.check("waits", line_up(bus), format_args!("after {PATIENCE:?}"));
    let got = wait::until(PATIENCE, || {
        let granted = call(LOCK_GRANTED, [0, 0]);
        granted.0 >= 0 && granted == (0, LOCK_ORPHANED)
    });
    checks.check("from one that had it for too long", got, format_args!("after {PATIENCE:?}"));
    checks.equal("unlock", result(UNLOCK, bus, 0), 0);
    // It gets it while it is asleep, and does not wake.
    checks.check("waits again", line_up(bus), format_args!("after {PATIENCE:?}"));
    sleep_for(2 * TOO_LONG);
    checks.equal("lost asleep", call(LOCK_GRANTED, [0, 0]), (0, LOCK_LOST));
    checks.equal("told once", result(LOCK_GRANTED, 0, 0), Error::TryAgain as i64);
    checks.equal("unlock", result(UNLOCK, bus, 0), Error::NotOwner as i64);
    checks.finish();
}

/// Entries of the VCPUs that take turns, refusals, and the number of the VCPUs that are done.
static ENTRIES: AtomicU64 = AtomicU64::new(0);
static REFUSALS: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);

/// Takes the resource again and again.
fn take_turns(resource: u64) {
    let held = Duration::from_micros(arguments::number("locks.us", 100));
    let _ = wait::until(Duration::from_millis(arguments::number("locks.ms", 100)), || {
        if acquire(resource) {
            ENTRIES.fetch_add(1, Relaxed);
            wait::pause(held);
            call(UNLOCK, [resource, 0]);
        } else {
            REFUSALS.fetch_add(1, Relaxed);
        }
        false
    });
    DONE.fetch_add(1, Relaxed);
}

fn turns() {
    let (bus, _) = call(LOCK_OPEN, packed("bus"));
    let started = secondary::start(1, take_turns, bus as u64);
    take_turns(bus as u64);
    let done = wait::until(PATIENCE, || DONE.load(Relaxed) == 2);
    let (entries, refusals) = (ENTRIES.load(Relaxed), REFUSALS.load(Relaxed));
    println!("locks: started={started} done={done} entries={entries} refusals={refusals}");
}

fn leaver() {
    let mut checks = Checks::new("locks");
    let bus = open(&mut checks, "bus");
    wait::pause(LATER);
    checks.equal("waits", result(LOCK, bus, 0), LOCK_WAITS as i64);
    checks.finish();
}

fn stranger() {
    let mut checks = Checks::new("locks");
    let bus = open(&mut checks, "bus");
    for function in [LOCK, LOCK_TRY, GCS_START] {
        checks.equal("not planned", result(function, bus, 0), Error::Denied as i64);
    }
    checks.equal("not its own", result(UNLOCK, bus, 0), Error::NotOwner as i64);
    checks.equal("destroy", result(LOCK_DESTROY, bus, 0), 0);
    checks.equal("not open", result(LOCK_DESTROY, bus, 0), Error::Denied as i64);
    checks.finish();
}

/// Does what the boot arguments say.
pub fn main() {
    match arguments::text("locks.role") {
        Some("holder") => holder(),
        Some("waiter") => waiter(),
        Some("greedy") => greedy(),
        Some("patient") => patient(),
        Some("turns") => turns(),
        Some("leaver") => leaver(),
        Some("stranger") => stranger(),
        _ => bench(),
    }
}
