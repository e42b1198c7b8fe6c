//! Tasks, one of which sends as many frames at once as the link lets it, while the other one is released.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use rt::arch::{counter, cpu};
use rt::network::Card;
use rt::scheduler::{self, Task};
use rt::taskset::Parameters;
use rt::time::Clock;
use rt::{arguments, println, records};

use super::CARD;

/// The time from now to the first release.
const LEAD: Duration = Duration::from_millis(1);
/// The instructions that a job of `control` executes.
const CONTROL: u64 = 100_000;

/// The number of frames that a job of `net` sends, and the bytes of data of each.
static BATCH: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
/// The shortest and the longest time of the store after which EL2 sends them, in ticks.
static SHORTEST: AtomicU64 = AtomicU64::new(u64::MAX);
static LONGEST: AtomicU64 = AtomicU64::new(0);

/// Runs the tasks for `us` microseconds, and prints a table.
pub fn run(us: u64) {
    let offset = Duration::from_micros(arguments::number("network.offset_us", 40));
    let task = |name, ms, offset, priority, body| {
        let period = Duration::from_millis(ms);
        let parameters = Parameters { name, period, offset, deadline: period, priority };
        Task { parameters, body, local: 0 }
    };
    let tasks = [
        task("control", 2, offset, 2, |_| cpu::burn(CONTROL)),
        task("net", 10, Duration::ZERO, 1, send),
    ];
    BATCH.store(arguments::number("network.batch", 16), Relaxed);
    BYTES.store(arguments::number("network.bytes", 24), Relaxed);
    let clock = Clock::of_machine();
    let start = counter::now() + clock.ticks(LEAD.as_nanos() as u64);
    match scheduler::run(&tasks, start, Duration::from_micros(us), |_| ()) {
        Ok(set) => records::print("network", &set, clock),
        Err(error) => println!("network: {error}"),
    }
    let [shortest, longest] = [&SHORTEST, &LONGEST].map(|it| it.load(Relaxed));
    println!("network: stores shortest={shortest} longest={longest}");
}

/// Sends `network.batch` frames with one store.
fn send(job: u64) {
    let (batch, bytes) = (BATCH.load(Relaxed), BYTES.load(Relaxed) as usize);
    // No interrupt waits for more than one frame that is written.
    for frame in 0..batch {
        CARD.with(|card| card.as_mut().map(|card| card.put(job * batch + frame, bytes)));
    }
    // Interrupts may come: they would wait for all that EL2 does after the store.
    let notifier = CARD.with(|card| card.as_ref().map(Card::notifier));
    let before = counter::now();
    if let Some(notifier) = notifier {
        notifier.notify();
    }
    let ticks = counter::now() - before;
    SHORTEST.fetch_min(ticks, Relaxed);
    LONGEST.fetch_max(ticks, Relaxed);
}
