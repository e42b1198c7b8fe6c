//! `rt-leech`: takes resources from others, on one VCPU or several, until it is stopped (IsoTest, section
//! IV). The paper's leeches are programs of a Linux; this one needs no Linux to boot.
//!
//! Boot arguments: `leech.take` (`none`), see [`programs::leeches`]: several with commas follow each other,
//! each for `leech.each_ms` (0: the first one for ever), and then there is none; `leech.after_ms` (0): when the
//! first one begins.
//!
//! ```text
//! leech: take=copy:64KiB,3xcopy:8MiB each_ms=2000 after_ms=1500 vcpus=3
//! ```

use core::hint::black_box;
use core::time::Duration;

use abi::limits::PAGE_BYTES;
use policy::color::{Cache, Geometry, IndexBits};
use spin::Once;

use programs::leeches::{Kind, Leeches};
use rt::arch::lock::InterruptLock;
use rt::arch::{CPUS_MAX, counter, cpu, secondary};
use rt::coloring::{Memory, Task};
use rt::sleep::sleep_until;
use rt::time::Clock;
use rt::{arguments, println};

/// Time that a round of `cpu` takes: the published one takes 79 to 80 ms.
const ROUND: Duration = Duration::from_millis(80);
/// Instructions between two looks at the time.
const CHUNK: u64 = 10_000;
/// Words copied between two looks at the time: a page.
const PAGE: usize = PAGE_BYTES as usize / size_of::<u64>();

/// Pages of one colour: the guest does not choose.
const UNCOLORED: Geometry = match Cache::new(4096, 1, 64) {
    Ok(cache) => match Geometry::new(cache, 4096, IndexBits::AbovePage) {
        Ok(geometry) => geometry,
        Err(_) => panic!("one page per way is one colour"),
    },
    Err(_) => panic!("64 sets of one line"),
};

/// The facts that all leeches have to know.
struct Setup {
    take: &'static str,
    clock: Clock,
    /// The time at which the first of them begin, in ticks.
    start: u64,
    /// The time for which they take something, in ticks; 0: for ever.
    each: u64,
}

/// The setup, which is there before the first leech begins.
static SETUP: Once<Setup> = Once::new();
/// The buffers of leeches that are still to begin.
static TASKS: InterruptLock<[Option<Task>; CPUS_MAX]> =
    InterruptLock::new([const { None }; CPUS_MAX]);

/// Returns those of the boot argument that can be read: all, after [`main`].
fn all(take: &'static str) -> impl Iterator<Item = Leeches> {
    take.split(',').filter_map(|text| Leeches::parse(text).ok())
}

/// Runs the leeches of the VCPU with this number, one after the other.
fn run(data: &mut [u64], number: u64) {
    let Some(setup) = SETUP.get() else { return };
    sleep_until(setup.start);
    for (leeches, place) in all(setup.take).zip(1..) {
        let end = match setup.each {
            0 => u64::MAX,
            each => setup.start + place * each,
        };
        while counter::now() < end {
            if number as usize >= leeches.count || leeches.kind == Kind::Nothing {
                sleep_until(end);
                continue;
            }
            match leeches.kind {
                Kind::Nothing => {}
                Kind::Cpu => compute(setup.clock, end),
                Kind::Copy(bytes) => copy(&mut data[..2 * bytes / size_of::<u64>()], end),
            }
            if !leeches.sleep.is_zero() {
                let ticks = setup.clock.ticks(leeches.sleep.as_nanos() as u64);
                sleep_until(end.min(counter::now() + ticks));
            }
        }
    }
    sleep_until(u64::MAX);
}

fn compute(clock: Clock, end: u64) {
    let end = end.min(counter::now() + clock.ticks(ROUND.as_nanos() as u64));
    while counter::now() < end {
        cpu::burn(CHUNK);
    }
}

/// The first half of the data to the second one, at most until `end`.
fn copy(data: &mut [u64], end: u64) {
    let (from, to) = data.split_at_mut(data.len() / 2);
    for (from, to) in from.chunks(PAGE).zip(to.chunks_mut(PAGE)) {
        to.copy_from_slice(black_box(from));
        black_box(to);
        if counter::now() >= end {
            return;
        }
    }
}

fn on_another(number: u64) {
    if let Some(mut task) = TASKS.with(|tasks| tasks[number as usize].take()) {
        task.run(run, number);
    }
}

/// Takes what the boot arguments say.
pub fn main() {
    let begin = counter::now();
    let take = arguments::text("leech.take").unwrap_or("none");
    if let Some(error) = take.split(',').find_map(|text| Leeches::parse(text).err()) {
        return println!("leech: {error}");
    }
    let vcpus = all(take).map(|leeches| leeches.count).max().unwrap_or(1);
    if vcpus > CPUS_MAX {
        return println!("leech: at most {CPUS_MAX} at a time are supported");
    }
    let each_ms = arguments::number("leech.each_ms", 0);
    let after_ms = arguments::number("leech.after_ms", 0);
    let clock = Clock::of_machine();
    let ticks = |ms: u64| clock.ticks(ms.saturating_mul(1_000_000));
    let (start, each) = (begin + ticks(after_ms), ticks(each_ms));
    SETUP.call_once(|| Setup { take, clock, start, each });
    let mut memory = match Memory::take(UNCOLORED) {
        Ok(memory) => memory,
        Err(error) => return println!("leech: {error}"),
    };
    let colors = memory.geometry().all();
    for number in 0..vcpus {
        let own = all(take).filter(|leeches| number < leeches.count);
        match Task::new(&mut memory, colors, own.map(|it| it.bytes()).max().unwrap_or(0)) {
            Ok(task) => TASKS.with(|tasks| tasks[number] = Some(task)),
            Err(error) => return println!("leech: too little RAM: {error}"),
        }
    }
    println!("leech: take={take} each_ms={each_ms} after_ms={after_ms} vcpus={vcpus}");
    for number in 1..vcpus {
        if secondary::start(number, on_another, number as u64) != 0 {
            return println!("leech: there is no VCPU {number}");
        }
    }
    on_another(0);
}
