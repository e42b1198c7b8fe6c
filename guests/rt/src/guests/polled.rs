//! `rt-tasks` on x86-64: tasks of a Linux/KVM guest, as boot arguments describe them.
//!
//! Boot arguments are those of `rt-tasks` on AArch64: `task0`, `task1`, ... ([`rt::program`]), of each processor that with the
//! highest priority first; `tasks.start_ms` (1000): when the first period of tasks without offset begins, from the start of
//! the first period of all servers; `tasks.ms` (1000): releases end so long after that. There are no critical sections.
//!
//! ```text
//! tasks: task tau-1 period_us=200000 jobs=1 misses=0 response_min_ns=... overruns=0
//! tasks: done
//! ```

use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use core::time::Duration;

use abi::kvm::VCPUS_MAX;
use rt::arch::{call, counter, cpu, servers_start};
use rt::polled::{self, OwnTime, Processor};
use rt::program::Program;
use rt::taskset::{Parameters, TASKS_MAX, TaskSet};
use rt::time::Clock;
use rt::{arguments, println, records, wait};

const KEYS: [&str; 16] = [
    "task0", "task1", "task2", "task3", "task4", "task5", "task6", "task7", "task8", "task9",
    "task10", "task11", "task12", "task13", "task14", "task15",
];
/// Longer than a look at the clock takes, and shorter than a VCPU is away from its processor.
const LOOK_MAX: u64 = 4_000;
/// Processors are waited for at the end, which may have less time than the first one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Processors that have done their work.
static DONE: [AtomicBool; VCPUS_MAX] = [const { AtomicBool::new(false) }; VCPUS_MAX];

/// Runs the tasks of this processor, and prints a line for each.
pub fn main() {
    if run() && cpu::index() == 0 {
        let busy = |processor| programs().flatten().any(|task| task.processor == processor);
        for processor in (1..VCPUS_MAX).filter(|it| busy(*it)) {
            if !wait::until(PATIENCE, || DONE[processor].load(SeqCst)) {
                return println!("tasks: FAILED: processor {processor} does not end");
            }
        }
        println!("tasks: done");
    }
}

/// The tasks, and what is wrong with a text that describes none.
fn programs() -> impl Iterator<Item = Result<Program<'static>, rt::program::NoProgram<'static>>> {
    KEYS.into_iter().filter_map(arguments::text).map(Program::parse)
}

fn run() -> bool {
    let clock = Clock::of_machine();
    let millis = |key, default| arguments::number(key, default).saturating_mul(1_000_000);
    let start = servers_start() + millis("tasks.start_ms", 1000);
    let end = start + millis("tasks.ms", 1000);
    let mut lengths = [0; TASKS_MAX];
    let mut tasks = [None; TASKS_MAX];
    let mut count = 0;
    for program in programs() {
        let program = match program {
            Ok(program) if program.processor != cpu::index() => continue,
            Ok(program) => program,
            Err(error) => {
                println!("tasks: FAILED: {error}");
                return false;
            }
        };
        let has_sections = program.steps().any(|step| step.resource.is_some());
        if has_sections || count == TASKS_MAX {
            let why =
                if has_sections { "there are no critical sections here" } else { "too many tasks" };
            println!("tasks: FAILED: task {}: {why}", program.name);
            return false;
        }
        let Program { name, period, offset, .. } = program;
        let priority = (TASKS_MAX - count) as u8;
        tasks[count] = Some(Parameters { name, period, offset, deadline: period, priority });
        lengths[count] = program.steps().map(|step| step.time.as_nanos() as u64).sum();
        count += 1;
    }
    let tasks = tasks.into_iter().flatten();
    let mut set = match TaskSet::new(tasks, clock, start, end) {
        Ok(set) => set,
        Err(error) => {
            println!("tasks: FAILED: {error}");
            return false;
        }
    };
    if counter::now() > start {
        println!("tasks: FAILED: started too late: raise tasks.start_ms");
        return false;
    }
    polled::run(&mut set, &lengths, &mut Here);
    records::print("tasks", &set, clock);
    DONE[cpu::index()].store(true, SeqCst);
    true
}

/// This processor.
struct Here;

impl Processor for Here {
    fn now(&mut self) -> u64 {
        counter::now()
    }

    fn wait(&mut self, until: u64) {
        call::wait_until(until);
    }

    fn execute(&mut self, ticks: u64, until: u64) -> u64 {
        let mut time = OwnTime::new(counter::now(), LOOK_MAX);
        loop {
            let now = counter::now();
            let executed = time.look(now);
            if executed >= ticks || now >= until {
                return executed;
            }
        }
    }

    fn mark(&mut self, mark: u64) {
        call::mark(mark);
    }
}
