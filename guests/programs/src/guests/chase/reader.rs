//! The work of victim and co-runners: they read their working set, round by round.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use abi::hypercall::{MARK_FINISH, MARK_START, mark};
use policy::color::ColorSet;
use spin::Once;

use super::arguments::{Config, Pattern, Reader, Via};
use programs::arch::reading::{Chain, Lines};
use rt::arch::{counter, cpu};
use rt::hypercall::{self, ColorsRefused};
use rt::println;
use rt::random::Random;
use rt::statistics::Summary;
use rt::time::Clock;

/// The facts that all tasks of this run have to know.
#[derive(Debug)]
pub struct Setup {
    /// The boot arguments.
    pub config: Config,
    /// Bytes of a line.
    pub line_bytes: usize,
}

/// The setup, which is there before the first task runs.
pub static SETUP: Once<Setup> = Once::new();
/// Co-runners that have read their working set once, or were refused.
pub static READY: AtomicUsize = AtomicUsize::new(0);
/// A task did not get its colours: nothing is measured.
pub static REFUSED: AtomicBool = AtomicBool::new(false);
/// Co-runners are to end.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// Instructions of a round of a busy loop: co-runners look after each whether they are to end.
const BUSY: u64 = 100_000;

fn setup() -> &'static Setup {
    SETUP.get().expect("tasks start after `SETUP` has been set")
}

enum Work<'a> {
    Chase(Chain<'a>),
    Sequential(Lines<'a>),
    BusyLoop,
}

impl<'a> Work<'a> {
    fn new(pattern: Pattern, data: &'a mut [u64], kib: u64, seed: u64) -> Self {
        let words = data.len().min(((kib as usize) << 10) / size_of::<u64>());
        let data = &mut data[..words];
        match pattern {
            Pattern::Chase => {
                Self::Chase(Lines::new(data, setup().line_bytes).chain(&mut Random::new(seed)))
            }
            Pattern::Sequential => Self::Sequential(Lines::new(data, setup().line_bytes)),
            Pattern::BusyLoop => Self::BusyLoop,
        }
    }

    fn lines(&self) -> usize {
        match self {
            Self::Chase(chain) => chain.count(),
            Self::Sequential(lines) => lines.count(),
            Self::BusyLoop => 0,
        }
    }

    fn round(&self, laps: u64) {
        for _ in 0..laps {
            match self {
                Self::Chase(chain) => chain.follow(),
                Self::Sequential(lines) => lines.read_in_order(),
                Self::BusyLoop => cpu::burn(BUSY),
            }
        }
    }
}

/// Asks for extra colours where the run is about that.
fn request(reader: &Reader) -> Result<(), ColorsRefused> {
    if setup().config.via != Via::Vcoloring {
        return Ok(());
    }
    let colors = reader.colors.unwrap_or(ColorSet::EMPTY);
    let before = counter::now();
    let pages = hypercall::request_colors(colors.bits())?;
    let ns = Clock::of_machine().nanoseconds(counter::now() - before);
    println!("chase: request colors={colors} pages={pages} ns={ns}");
    Ok(())
}

/// The task that is measured.
pub fn victim(data: &mut [u64], _number: u64) {
    let Config { victim, corunners, warm_up, rounds, laps, seed, marks, .. } = setup().config;
    if let Err(error) = request(&victim) {
        REFUSED.store(true, SeqCst);
        return println!("chase: {error}");
    }
    // No `YIELD`: where an emulator gives the turn away for it, this processor's clock would fall
    // behind, and the others would have to wait for it when the victim begins.
    while READY.load(SeqCst) < corunners {
        cpu::burn(100);
    }
    if REFUSED.load(SeqCst) {
        return;
    }
    let mut job = 0;
    for kib in victim.kib.sizes() {
        let work = Work::new(victim.pattern, data, kib, seed);
        for _ in 0..warm_up {
            work.round(laps);
        }
        if rounds == 0 {
            println!("chase: reading for ever");
            loop {
                work.round(laps);
            }
        }
        let first = job;
        let mut times = Summary::new();
        for _ in 0..rounds {
            if marks {
                hypercall::trace_mark(mark(MARK_START, 0, job));
            }
            let start = counter::now();
            work.round(laps);
            let end = counter::now();
            if marks {
                hypercall::trace_mark(mark(MARK_FINISH, 0, job));
            }
            times.add(end - start);
            job = job.wrapping_add(1);
        }
        let clock = Clock::of_machine();
        println!(
            "chase: kib={kib} lines={} jobs={first}-{} min_ns={} mean_ns={} max_ns={}",
            work.lines(),
            job.wrapping_sub(1),
            clock.nanoseconds(times.min()),
            clock.nanoseconds(times.mean()),
            clock.nanoseconds(times.max()),
        );
    }
}

/// A task that disturbs until it is told to end.
pub fn corunner(data: &mut [u64], number: u64) {
    let Config { corunner, seed, .. } = setup().config;
    if let Err(error) = request(&corunner) {
        REFUSED.store(true, SeqCst);
        READY.fetch_add(1, SeqCst);
        return println!("chase: co-runner {number}: {error}");
    }
    let kib = corunner.kib.largest();
    let work = Work::new(corunner.pattern, data, kib, seed.wrapping_add(number));
    work.round(1);
    READY.fetch_add(1, SeqCst);
    while !STOP.load(SeqCst) {
        work.round(1);
    }
}
