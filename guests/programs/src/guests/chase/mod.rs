//! `rt-chase`: the time of reading a working set, alone and beside others that read theirs.
//!
//! The victim is the *latency* task of vCache, section 6.1: it follows a chain of lines in random order
//! (`chase.pattern=chase`); or it reads them in order, as the benchmark of XvIso, section V
//! (`sequential`). Co-runners do the same on other VCPUs, or in turns with it on one. Each has pages of
//! its colours, by choice of the guest under a virtual cache (vLLC) or by request (vColoring).
//!
//! Boot arguments: see the README. Measured rounds are jobs of task 0 in the trace.
//!
//! ```text
//! chase: victim pattern=chase colors=0-15 via=vllc of=16 corunners=3 where=other kind=chase corunner_colors=0-15
//! chase: kib=1024 lines=16384 jobs=0-19 min_ns=... mean_ns=... max_ns=...
//! chase: done
//! ```

mod arguments;
mod reader;

use core::fmt;
use core::sync::atomic::Ordering::SeqCst;
use core::time::Duration;

use policy::color::{Cache, ColorSet, Geometry, IndexBits, OutOfFrames, UnknownColors};

use self::arguments::{Config, Pattern, Reader, Via, Where};
use self::reader::{REFUSED, SETUP, STOP, Setup, corunner, victim};
use rt::arch::lock::InterruptLock;
use rt::arch::{CPUS_MAX, secondary};
use rt::coloring::{Memory, MemoryError, NoColors, Task, geometry};
use rt::{println, psci, round_robin, wait};

/// The time that co-runners may take to end.
const LIMIT: Duration = Duration::from_secs(60);

/// The reason why nothing is measured.
enum Problem {
    Argument(arguments::BadArgument),
    NoColors(NoColors),
    UnknownColors(UnknownColors),
    Memory(MemoryError),
    OutOfFrames(u64, OutOfFrames),
    NoVcpu(usize),
    VcpuStays(usize),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(error) => error.fmt(f),
            Self::NoColors(error) => write!(f, "the cache has no colours: {error}"),
            Self::UnknownColors(error) => error.fmt(f),
            Self::Memory(error) => error.fmt(f),
            Self::OutOfFrames(kib, error) => {
                write!(f, "too little RAM for a task of {kib} KiB: {error}")
            }
            Self::NoVcpu(vcpu) => write!(f, "no VCPU {vcpu} for a co-runner"),
            Self::VcpuStays(vcpu) => write!(f, "the co-runner on VCPU {vcpu} does not end"),
        }
    }
}

/// Pages of one colour: the guest does not choose.
const UNCOLORED: Geometry = match Cache::new(4096, 1, 64) {
    Ok(cache) => match Geometry::new(cache, 4096, IndexBits::AbovePage) {
        Ok(geometry) => geometry,
        Err(_) => panic!("one page per way is one colour"),
    },
    Err(_) => panic!("64 sets of one line"),
};

struct Shown(Option<ColorSet>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(colors) => colors.fmt(f),
            None => f.write_str("all"),
        }
    }
}

/// The pages of a task.
fn task(memory: &mut Memory, reader: &Reader, via: Via) -> Result<Task, Problem> {
    let all = memory.geometry().all();
    let colors = match via {
        Via::Vllc => reader.colors.unwrap_or(all),
        Via::Vcoloring | Via::Nothing => all,
    };
    memory.geometry().check(colors).map_err(Problem::UnknownColors)?;
    let kib = match reader.pattern {
        Pattern::BusyLoop => 0,
        Pattern::Chase | Pattern::Sequential => reader.kib.largest(),
    };
    let bytes = (kib as usize).saturating_mul(1024);
    Task::new(memory, colors, bytes).map_err(|error| Problem::OutOfFrames(kib, error))
}

/// The co-runners of other VCPUs until they start.
static TASKS: InterruptLock<[Option<Task>; CPUS_MAX]> =
    InterruptLock::new([const { None }; CPUS_MAX]);

fn run_corunner(number: u64) {
    if let Some(mut task) = TASKS.with(|tasks| tasks[number as usize].take()) {
        task.run(corunner, number);
    }
}

fn beside_others(config: &Config, mut task: Task, mut others: Others<'_>) -> Result<(), Problem> {
    for vcpu in 1..=config.corunners {
        let other = others.next()?;
        TASKS.with(|tasks| tasks[vcpu] = Some(other));
        if secondary::start(vcpu, run_corunner, vcpu as u64) != 0 {
            STOP.store(true, SeqCst);
            return Err(Problem::NoVcpu(vcpu));
        }
    }
    task.run(victim, 0);
    STOP.store(true, SeqCst);
    for vcpu in 1..=config.corunners {
        if !wait::until(LIMIT, || psci::affinity_info(vcpu as u64) == psci::OFF) {
            return Err(Problem::VcpuStays(vcpu));
        }
    }
    Ok(())
}

fn in_turns(config: &Config, task: Task, mut others: Others<'_>) -> Result<(), Problem> {
    let mut threads = [const { None }; CPUS_MAX];
    threads[0] = Some(task.into_thread(victim, 0));
    for (number, thread) in threads.iter_mut().enumerate().skip(1).take(config.corunners) {
        *thread = Some(others.next()?.into_thread(corunner, number as u64));
    }
    round_robin::run(threads.into_iter().flatten(), config.quantum, config.marks);
    Ok(())
}

/// The tasks of co-runners.
struct Others<'a> {
    memory: &'a mut Memory,
    config: &'a Config,
}

impl Others<'_> {
    fn next(&mut self) -> Result<Task, Problem> {
        task(self.memory, &self.config.corunner, self.config.via)
    }
}

fn measure() -> Result<(), Problem> {
    let config = Config::read().map_err(Problem::Argument)?;
    let seen = geometry();
    let line_bytes = seen.map_or(64, |geometry| geometry.cache().line_bytes() as usize);
    let geometry = match config.via {
        Via::Vllc => seen.map_err(Problem::NoColors)?,
        Via::Vcoloring | Via::Nothing => UNCOLORED,
    };
    let mut memory = Memory::take(geometry).map_err(Problem::Memory)?;
    println!(
        "chase: victim pattern={} colors={} via={} of={} corunners={} where={} kind={} \
         corunner_colors={}",
        config.victim.pattern,
        Shown(config.victim.colors),
        config.via,
        geometry.colors(),
        config.corunners,
        config.place,
        config.corunner.pattern,
        Shown(config.corunner.colors),
    );
    SETUP.call_once(|| Setup { config, line_bytes });
    let task = task(&mut memory, &config.victim, config.via)?;
    let others = Others { memory: &mut memory, config: &config };
    match config.place {
        Where::Other => beside_others(&config, task, others),
        Where::Same => in_turns(&config, task, others),
    }
}

/// Measures what the boot arguments say.
pub fn main() {
    match measure() {
        Ok(()) if REFUSED.load(SeqCst) => println!("chase: not measured"),
        Ok(()) => println!("chase: done"),
        Err(problem) => println!("chase: {problem}"),
    }
}
