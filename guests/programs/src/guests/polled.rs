//! `rt-tasks` on x86-64: tasks of a Linux/KVM guest, as boot arguments describe them.
//!
//! Boot arguments are those of `rt-tasks` on AArch64: `task0`, `task1`, ... ([`rt::program`]), of each processor that with the
//! highest priority first; `tasks.start_ms` (1000): when the first period of tasks without offset begins, from the start of
//! the first period of all servers; `tasks.ms` (1000): releases end this number of milliseconds after that; `tasks.calls`
//! names a shared resource: marks say how long calls take that get and release resources, and after each release, calls that do
//! nothing and that open the resource once more.
//!
//! `colors0`, `colors1`, ...: extra colours of the VM, for which the task of this number asks before it starts. Each such task has
//! memory of its own, 32 KiB in these colours, and reads it while it executes.
//!
//! A resource that the description lets the VM open is shared; another one belongs to the processor whose tasks use it.
//!
//! ```text
//! tasks: task tau-1 colors=8-11 pages=8
//! tasks: task tau-1 period_us=200000 jobs=1 misses=0 response_min_ns=... overruns=0
//! tasks: done
//! ```

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use core::time::Duration;

use abi::hypercall::{Error, LOCK_WAITS, MARK_CALL};
use abi::kvm::{Call, VCPUS_MAX};
use policy::color::{ColorSet, ParseColorsError};
use policy::lock::RESOURCES_MAX;
use rt::arch::{call, counter, cpu, servers_start};
use rt::polled::{self, Asked, OwnTime, Part, Processor, Resource};
use rt::program::Program;
use rt::taskset::{BY_BELL, Parameters, TASKS_MAX, TaskSet};
use rt::time::Clock;
use rt::{arguments, println, records, wait};

const KEYS: [&str; 16] = [
    "task0", "task1", "task2", "task3", "task4", "task5", "task6", "task7", "task8", "task9",
    "task10", "task11", "task12", "task13", "task14", "task15",
];
/// The keys of the colours of these tasks.
const COLORS: [&str; 16] = [
    "colors0", "colors1", "colors2", "colors3", "colors4", "colors5", "colors6", "colors7",
    "colors8", "colors9", "colors10", "colors11", "colors12", "colors13", "colors14", "colors15",
];
/// Words of the memory of a task with colours, and of a line.
const WORDS: usize = (32 << 10) / 8;
const LINE: usize = 64 / 8;

/// Memory of a task.
#[repr(align(4096))]
struct Memory([AtomicU64; WORDS]);

static MEMORY: [Memory; KEYS.len()] =
    [const { Memory([const { AtomicU64::new(0) }; WORDS]) }; KEYS.len()];

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

/// The tasks, and the error of a text that describes none.
fn programs() -> impl Iterator<Item = Result<Program<'static>, rt::program::NoProgram<'static>>> {
    KEYS.into_iter().filter_map(arguments::text).map(Program::parse)
}

/// Asks for the colours of a task, if it shall have some. Returns its memory then.
fn colored(task: &Program<'static>) -> Result<Option<&'static Memory>, Failure> {
    let is_it = |key| arguments::text(key).map(Program::parse).is_some_and(|it| it == Ok(*task));
    let number = KEYS.into_iter().position(is_it);
    let text = number.and_then(|number| Some((number, arguments::text(COLORS[number])?)));
    let Some((number, text)) = text else { return Ok(None) };
    let colors: ColorSet = text.parse().map_err(Failure::Colors)?;
    let memory = &MEMORY[number];
    let pages =
        call::request_colors(colors.bits(), &raw const *memory as u64, size_of::<Memory>() as u64);
    if pages < 0 {
        return Err(Failure::NoColors(task.name, pages));
    }
    println!("tasks: task {} colors={colors} pages={pages}", task.name);
    Ok(Some(memory))
}

fn run() -> bool {
    let clock = Clock::of_machine();
    let millis = |key, default| arguments::number(key, default).saturating_mul(1_000_000);
    let start = servers_start() + millis("tasks.start_ms", 1000);
    let end = start + millis("tasks.ms", 1000);
    match run_tasks(clock, start, end) {
        Ok(set) => {
            records::print("tasks", &set, clock);
            DONE[cpu::index()].store(true, SeqCst);
            true
        }
        Err(why) => {
            println!("tasks: FAILED: {why}");
            false
        }
    }
}

/// The reason why tasks cannot run.
enum Failure {
    Program(rt::program::NoProgram<'static>),
    Tasks(rt::taskset::TaskError),
    TooManyResources,
    Colors(ParseColorsError),
    /// A task does not get its colours: the error.
    NoColors(&'static str, i64),
    /// A task uses a channel, of which there are none under KVM.
    Channel(&'static str),
    /// A resource that belongs to no processor, and that the description does not let the VM share.
    NotShared(&'static str),
    Late,
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Program(error) => error.fmt(f),
            Self::Tasks(error) => error.fmt(f),
            Self::Channel(task) => write!(f, "task {task}: VMs under KVM have no channels"),
            Self::Colors(error) => error.fmt(f),
            Self::NoColors(task, error) if *error == Error::Invalid as i64 => {
                write!(f, "task {task}: its colours are no extra colours of this VM")
            }
            Self::NoColors(task, error) if *error == Error::NoMemory as i64 => {
                write!(f, "task {task}: too few free frames of its colours: more extra_memory")
            }
            Self::NoColors(task, error) => write!(f, "task {task}: no colours, error {error}"),
            Self::TooManyResources => write!(f, "more than {RESOURCES_MAX} resources"),
            Self::NotShared(name) => write!(
                f,
                "resource {name}: tasks of several processors use it, and the VM does not share it"
            ),
            Self::Late => f.write_str("started too late: raise tasks.start_ms"),
        }
    }
}

/// Runs the tasks of this processor.
fn run_tasks(clock: Clock, start: u64, end: u64) -> Result<TaskSet, Failure> {
    let mut own: [Option<Program<'_>>; TASKS_MAX] = [None; TASKS_MAX];
    let mut count = 0;
    for program in programs() {
        let program = program.map_err(Failure::Program)?;
        if program.receives.or(program.sends).is_some() || program.period == BY_BELL {
            return Err(Failure::Channel(program.name));
        }
        if program.processor == cpu::index() {
            let place = own.get_mut(count);
            *place.ok_or(Failure::Tasks(rt::taskset::TaskError::TooMany))? = Some(program);
            count += 1;
        }
    }
    let tasks = own.iter().flatten().enumerate().map(|(number, program)| {
        let &Program { name, period, offset, .. } = program;
        let priority = (TASKS_MAX - number) as u8;
        Parameters { name, period, offset, deadline: period, priority }
    });
    let mut set = TaskSet::new(tasks, clock, start, end).map_err(Failure::Tasks)?;
    let resources = resources(&own)?;
    let find = |name: &str| resources.iter().flatten().find(|(other, _)| *other == name);
    for (task, program) in own.iter().enumerate() {
        for name in program.iter().flat_map(names) {
            if let Some((_, Resource::Local(number))) = find(name) {
                set.use_local(task, *number);
            }
        }
    }
    let mut memory = [None; TASKS_MAX];
    for (memory, program) in memory.iter_mut().zip(own.iter().flatten()) {
        *memory = colored(program)?;
    }
    if counter::now() > start {
        return Err(Failure::Late);
    }
    let part = |task: usize, number| {
        let step = own.get(task)?.as_ref()?.steps().nth(number)?;
        let resource = step.resource.and_then(find).map(|(_, resource)| *resource);
        Some(Part { ticks: step.time.as_nanos() as u64, resource })
    };
    let measured = arguments::text("tasks.calls");
    polled::run(&mut set, part, &mut Here { seen: 0, measured, memory, line: 0 });
    Ok(set)
}

/// The resources that a task names.
fn names(program: &Program<'static>) -> impl Iterator<Item = &'static str> + use<> {
    program.steps().filter_map(|step| step.resource)
}

/// The resources that tasks of this processor name.
fn resources(
    own: &[Option<Program<'static>>; TASKS_MAX],
) -> Result<[Option<(&'static str, Resource)>; RESOURCES_MAX], Failure> {
    let mut found: [Option<(&str, Resource)>; RESOURCES_MAX] = [None; RESOURCES_MAX];
    let mut count = 0;
    for name in own.iter().flatten().flat_map(names) {
        if found.iter().flatten().any(|(other, _)| *other == name) {
            continue;
        }
        let is_own = || {
            let mut others = programs().flatten().filter(|it| it.processor != cpu::index());
            !others.any(|it| names(&it).any(|other| other == name))
        };
        let resource = match call::open(name) {
            Some(number) => Resource::Shared(number),
            None if is_own() => Resource::Local(count),
            None => return Err(Failure::NotShared(name)),
        };
        *found.get_mut(count).ok_or(Failure::TooManyResources)? = Some((name, resource));
        count += 1;
    }
    Ok(found)
}

/// This processor.
struct Here {
    /// Grants that it has asked for.
    seen: u64,
    /// Marks say how long calls take, also those that open this resource.
    measured: Option<&'static str>,
    /// The memory of tasks with colours.
    memory: [Option<&'static Memory>; TASKS_MAX],
    /// The line that is read next.
    line: usize,
}

impl Here {
    /// Calls, and says how long that took.
    fn call<T>(&self, which: Call, call: impl FnOnce() -> T) -> T {
        let from = counter::now();
        let answer = call();
        let until = counter::now();
        if self.measured.is_some() {
            let ticks = u32::try_from(until.saturating_sub(from)).unwrap_or(u32::MAX);
            call::mark(abi::hypercall::mark(MARK_CALL, which as u8, ticks));
        }
        answer
    }
}

impl Processor for Here {
    fn now(&mut self) -> u64 {
        counter::now()
    }

    fn wait(&mut self, until: u64) {
        call::wait_for_grant(until, self.seen);
    }

    fn execute(&mut self, task: usize, ticks: u64, until: u64) -> u64 {
        let mut time = OwnTime::new(counter::now(), LOOK_MAX);
        loop {
            if let Some(Memory(words)) = self.memory.get(task).copied().flatten() {
                self.line = (self.line + LINE) % WORDS;
                words[self.line].load(Relaxed);
            }
            let now = counter::now();
            let executed = time.look(now);
            if executed >= ticks || now >= until || call::grants() != self.seen {
                return executed;
            }
        }
    }

    fn mark(&mut self, mark: u64) {
        call::mark(mark);
    }

    fn lock(&mut self, resource: u64, task: usize) -> Asked {
        const WAITS: i64 = LOCK_WAITS as i64;
        const TOO_OFTEN: i64 = Error::TooOften as i64;
        match self.call(Call::Lock, || call::lock(resource, task)) {
            WAITS => Asked::Waits,
            TOO_OFTEN => Asked::TooEarly,
            error @ ..0 => {
                println!("tasks: lock refused error={error}");
                Asked::Refused
            }
            _ => Asked::Held,
        }
    }

    fn unlock(&mut self, resource: u64, task: usize) {
        if let error @ ..0 = self.call(Call::Unlock, || call::unlock(resource, task)) {
            println!("tasks: unlock refused error={error}");
        }
        if let Some(name) = self.measured {
            self.call(Call::Marks, call::nothing);
            self.call(Call::Open, || call::open(name));
        }
    }

    fn granted(&mut self) -> Option<(usize, bool)> {
        let grants = call::grants();
        if grants == self.seen {
            return None;
        }
        let granted = call::granted();
        match granted {
            None => self.seen = grants,
            Some((_, true)) => {}
            Some((_, false)) => println!("tasks: resource lost while waiting"),
        }
        granted
    }
}
