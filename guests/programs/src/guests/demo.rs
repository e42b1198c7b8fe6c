//! `rt-demo`: three periodic tasks with short jobs of counted instructions, and two more on a second
//! processor if it is told to.
//!
//! Boot arguments: `rt.seconds` (2), `rt.trace` (1), `rt.cpus` (1; or 2), `rt.second` (sense,plan: the
//! tasks of the second processor), `rt.kib` (0; KiB that each job of `slow` reads, line by line, at
//! most 512), `rt.laps` (1; how often it does), `rt.warm` (0; 1: they are read once before the first
//! release, so that no job is the first to), `rt.names` (the names of the first processor's tasks in
//! reports, the highest priority first).
//!
//! ```text
//! rt: start seconds=2 frequency_hz=62500000
//! rt: progress seconds=1
//! rt: task fast period_us=5000 jobs=400 misses=0 response_min_ns=... response_mean_ns=... response_max_ns=... overruns=0
//! rt: done
//! ```

use core::hint::black_box;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;

use rt::arch::lock::InterruptLock;
use rt::arch::{counter, cpu, secondary};
use rt::scheduler::{self, Task};
use rt::taskset::{Parameters, TaskError, TaskSet};
use rt::time::Clock;
use rt::{arguments, println, records, wait};

const fn task(name: &'static str, milliseconds: u64, priority: u8, body: fn(u64)) -> Task {
    let period = Duration::from_millis(milliseconds);
    let parameters =
        Parameters { name, period, offset: Duration::ZERO, deadline: period, priority };
    Task { parameters, body, local: 0 }
}

/// The highest priority has the shortest period, whatever tasks share a processor, and is the first: traces know
/// tasks by numbers, in the order of their priorities.
const TASKS: [Task; 5] = [
    task("fast", 5, 5, |_| cpu::burn(100_000)),
    task("medium", 10, 4, |_| cpu::burn(300_000)),
    task("sense", 10, 3, |_| cpu::burn(500_000)),
    task("slow", 20, 2, |_| {
        read();
        cpu::burn(1_000_000);
    }),
    task("plan", 40, 1, |_| cpu::burn(2_000_000)),
];

/// The tasks of the second processor if the boot arguments name none.
const SECOND_TASKS: &str = "sense,plan";

/// The time from the start of the tasks to their first release.
const LEAD: Duration = Duration::from_millis(1);

/// Words of a line of the cache.
const LINE: usize = 8;

/// The memory that jobs of `slow` read: 512 KiB.
static MEMORY: [AtomicU64; 512 * 1024 / 8] = [const { AtomicU64::new(0) }; 512 * 1024 / 8];

/// Number of its lines that they read.
static LINES: AtomicUsize = AtomicUsize::new(0);

/// Number of times that they read these lines.
static LAPS: AtomicU64 = AtomicU64::new(1);

fn read() {
    for _ in 0..LAPS.load(Relaxed) {
        for line in MEMORY.chunks_exact(LINE).take(LINES.load(Relaxed)) {
            black_box(line[0].load(Relaxed));
        }
    }
}

type Outcome = Result<TaskSet, TaskError>;

/// The result of the tasks of the second processor.
static SECOND: InterruptLock<Option<Outcome>> = InterruptLock::new(None);

/// Runs the tasks of this processor for `seconds`.
fn run(on_second: bool, seconds: u64, idle: impl FnMut(Duration)) -> Outcome {
    let names = arguments::text("rt.second").unwrap_or(SECOND_TASKS);
    let mut shown = arguments::text("rt.names").unwrap_or_default().split(',');
    let mut own = TASKS;
    let mut count = 0;
    for mut task in TASKS {
        let is_second = names.split(',').any(|name| name == task.parameters.name);
        if is_second != on_second {
            continue;
        }
        if let Some(name) = shown.next().filter(|name| !on_second && !name.is_empty()) {
            task.parameters.name = name;
        }
        own[count] = task;
        count += 1;
    }
    let start = counter::now() + Clock::of_machine().ticks(LEAD.as_nanos() as u64);
    scheduler::run(&own[..count], start, Duration::from_secs(seconds), idle)
}

fn second(seconds: u64) {
    let outcome = run(true, seconds, |_| ());
    SECOND.with(|slot| *slot = Some(outcome));
}

/// Runs the tasks for `rt.seconds` and prints a table.
pub fn main() {
    let seconds = arguments::number("rt.seconds", 2);
    let clock = Clock::of_machine();
    println!("rt: start seconds={seconds} frequency_hz={}", clock.frequency());
    LINES.store((arguments::number("rt.kib", 0) as usize).saturating_mul(1024 / 64), Relaxed);
    LAPS.store(arguments::number("rt.laps", 1), Relaxed);
    if arguments::number("rt.warm", 0) != 0 {
        read();
    }
    let two = arguments::number("rt.cpus", 1) > 1;
    if two && secondary::start(1, second, seconds) != 0 {
        return println!("rt: there is no second processor");
    }
    let mut printed = 0;
    show(
        run(false, seconds, |elapsed| {
            if elapsed.as_secs() > printed {
                printed = elapsed.as_secs();
                println!("rt: progress seconds={printed}");
            }
        }),
        clock,
    );
    if two {
        // It may have started later, and have less processor time.
        if !wait::until(Duration::from_secs(seconds + 10), || SECOND.with(|slot| slot.is_some())) {
            return println!("rt: the second processor does not end");
        }
        if let Some(outcome) = SECOND.with(Option::take) {
            show(outcome, clock);
        }
    }
    println!("rt: done");
}

fn show(outcome: Outcome, clock: Clock) {
    let set = match outcome {
        Ok(set) => set,
        Err(error) => return println!("rt: {error}"),
    };
    records::print("rt", &set, clock);
}
