//! `rt-tasks`: tasks with critical sections on up to four processors, as boot arguments describe them.
//!
//! Boot arguments: `task0`, `task1`, ... up to `task15`: the tasks ([`rt::program`]), of each processor that with
//! the highest priority first; `tasks.start_ms` (1000): when the first period of tasks without offset begins, from the
//! start of the first period of all servers, or of the guest where there are none; `tasks.ms` (1000): releases end this number of
//! milliseconds after that; `tasks.order` (0,1,2,3): the processors by priority, for the guest's own mutexes.
//!
//! A resource that the hypervisor lets the VM open is shared between VMs. Others are the guest's own: of one
//! processor if only tasks of one use it.
//!
//! The bell of the VM releases tasks with `bell` in place of a period: one at most, on processor 0.
//!
//! A message through a channel is the time at which its data was read: by the job that sends it, or, if that job
//! received a message, by the job whose message that was. So `age_max_us` of a task is the longest time from the first
//! reading to the end of a job that used the data, and `held_max_us` the longest time to the end of the next job.
//!
//! ```text
//! tasks: start tasks=4 start_tick=63125000 frequency_hz=62500000
//! tasks: task tau-1 period_us=200000 jobs=1 misses=0 response_min_ns=... overruns=0
//! tasks: resource shared kind=shared sections=4 lost=0 together=0
//! tasks: data task=control from=pose jobs=199 age_max_us=31012 held_max_us=41024
//! tasks: done
//! ```
//!
//! Each section counts in a variable of its resource that nothing else protects: `lost` are counts that
//! another section of this VM has overwritten, `together` sections that found another one under way.

mod links;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use abi::hypercall::VmInfo;
use policy::lock::RESOURCES_MAX;
use spin::Once;

use rt::arch::lock::InterruptLock;
use rt::arch::{CPUS_MAX, counter, cpu, secondary, stolen};
use rt::mutexes::{self, MUTEXES_MAX};
use rt::program::Program;
use rt::scheduler::{self, Task};
use rt::sections::{self, Resource};
use rt::taskset::{BY_BELL, Parameters, TASKS_MAX, TaskError, TaskSet};
use rt::time::Clock;
use rt::{arguments, bell, hypercall, println, records, wait};

/// Most tasks.
const ALL_MAX: usize = 16;
const KEYS: [&str; ALL_MAX] = [
    "task0", "task1", "task2", "task3", "task4", "task5", "task6", "task7", "task8", "task9",
    "task10", "task11", "task12", "task13", "task14", "task15",
];
/// Processors are waited for at the end, which may have less time than the first one.
const PATIENCE: Duration = Duration::from_secs(10);

/// The facts that all processors know.
struct Setup {
    programs: [Option<Program<'static>>; ALL_MAX],
    resources: [Option<(&'static str, Resource)>; RESOURCES_MAX],
    start: u64,
    length: Duration,
}

static SETUP: Once<Setup> = Once::new();

type Outcome = Result<TaskSet, TaskError>;

static OUTCOMES: InterruptLock<[Option<Outcome>; CPUS_MAX]> =
    InterruptLock::new([const { None }; CPUS_MAX]);

/// The counts of sections.
struct Count {
    /// A count that is not safe against two at a time, on purpose.
    unprotected: AtomicU64,
    sections: AtomicU64,
    inside: AtomicU64,
    together: AtomicU64,
}

static COUNTS: [Count; RESOURCES_MAX] = [const {
    Count {
        unprotected: AtomicU64::new(0),
        sections: AtomicU64::new(0),
        inside: AtomicU64::new(0),
        together: AtomicU64::new(0),
    }
}; RESOURCES_MAX];

/// Runs the tasks and prints a table.
pub fn main() {
    let clock = Clock::of_machine();
    let Some(setup) = set_up(clock) else { return };
    let setup = SETUP.call_once(|| setup);
    let tasks = setup.programs.iter().flatten();
    let (count, start) = (tasks.clone().count(), setup.start);
    println!("tasks: start tasks={count} start_tick={start} frequency_hz={}", clock.frequency());
    let busy = |processor| tasks.clone().any(|task| task.processor == processor);
    stolen::find();
    for processor in (1..CPUS_MAX).filter(|it| busy(*it)) {
        if secondary::start(processor, run_on_secondary, 0) != 0 {
            return println!("tasks: there is no processor {processor}");
        }
    }
    if counter::now() > setup.start {
        return println!("tasks: started too late: raise tasks.start_ms");
    }
    run(setup);
    // Others go on until then, and what follows would be in their way.
    sleep_until(setup.start + clock.ticks(setup.length.as_nanos() as u64));
    for processor in (0..CPUS_MAX).filter(|it| busy(*it)) {
        let ended = || OUTCOMES.with(|outcomes| outcomes[processor].is_some());
        if !wait::until(PATIENCE, ended) {
            return println!("tasks: processor {processor} does not end");
        }
        match OUTCOMES.with(|outcomes| outcomes[processor].take()) {
            Some(Ok(set)) => records::print("tasks", &set, clock),
            Some(Err(error)) => return println!("tasks: {error}"),
            None => {}
        }
    }
    show_resources(setup);
    links::show(&setup.programs, clock);
    println!("tasks: done");
}

/// Returns the setup that the boot arguments describe; otherwise tells why there is none.
fn set_up(clock: Clock) -> Option<Setup> {
    let mut programs = [None; ALL_MAX];
    for (place, key) in programs.iter_mut().zip(KEYS) {
        match arguments::text(key).map(Program::parse).transpose() {
            Ok(Some(task)) if task.processor >= CPUS_MAX => {
                println!("tasks: task {}: there is no processor {}", task.name, task.processor);
                return None;
            }
            Ok(task) => *place = task,
            Err(error) => {
                println!("tasks: {error}");
                return None;
            }
        }
    }
    let mut by_bell = programs.iter().flatten().filter(|task| task.period == BY_BELL);
    if let Some(task) = by_bell.next()
        && (task.processor != 0 || bell::interrupt().is_none() || by_bell.next().is_some())
    {
        println!(
            "tasks: task {}: expected a bell with an interrupt, and one task for it, on processor 0",
            task.name
        );
        return None;
    }
    let resources = resources(&programs)?;
    if !links::open(&programs) {
        return None;
    }
    let order = arguments::text("tasks.order").unwrap_or("0,1,2,3");
    let mut places = [0; CPUS_MAX];
    let mut numbers = order.split(',');
    for place in &mut places {
        *place = numbers.next().and_then(|it| it.parse().ok()).unwrap_or(CPUS_MAX);
    }
    if (0..CPUS_MAX).any(|it| !places.contains(&it)) {
        println!("tasks: tasks.order={order}: expected all of 0,1,2,3");
        return None;
    }
    mutexes::make(places);
    let since_start = Duration::from_millis(arguments::number("tasks.start_ms", 1000));
    let first = hypercall::vm_info(VmInfo::ServersStart).unwrap_or_else(counter::now);
    Some(Setup {
        programs,
        resources,
        start: first + clock.ticks(since_start.as_nanos() as u64),
        length: Duration::from_millis(arguments::number("tasks.ms", 1000)),
    })
}

/// The resources that tasks name, and of what kind they are.
fn resources(
    programs: &[Option<Program<'static>>; ALL_MAX],
) -> Option<[Option<(&'static str, Resource)>; RESOURCES_MAX]> {
    let mut found: [Option<(&str, Resource)>; RESOURCES_MAX] = [None; RESOURCES_MAX];
    let tasks = || programs.iter().flatten();
    let (mut count, mut mutexes) = (0, 0);
    for name in tasks().flat_map(|task| task.steps().filter_map(|step| step.resource)) {
        if found.iter().flatten().any(|(other, _)| *other == name) {
            continue;
        }
        let Some(place) = found.get_mut(count) else {
            println!("tasks: more than {RESOURCES_MAX} resources");
            return None;
        };
        let uses = |task: &&Program<'_>| task.steps().any(|step| step.resource == Some(name));
        let mut homes = tasks().filter(uses).map(|task| task.processor);
        let home = homes.next();
        let resource = match (sections::open(name), homes.all(|it| Some(it) == home)) {
            (Some(shared), _) => shared,
            (None, true) => Resource::Local(count as u8),
            (None, false) if mutexes == MUTEXES_MAX => {
                println!("tasks: more than {MUTEXES_MAX} resources of several processors");
                return None;
            }
            (None, false) => {
                mutexes += 1;
                Resource::Own(mutexes as u8 - 1)
            }
        };
        *place = Some((name, resource));
        count += 1;
    }
    Some(found)
}

fn run_on_secondary(_: u64) {
    stolen::find();
    if let Some(setup) = SETUP.get() {
        run(setup);
    }
}

/// Runs the tasks of this processor.
fn run(setup: &Setup) {
    let own = setup.programs.iter().flatten().filter(|task| task.processor == cpu::index());
    let mut tasks = [Task { parameters: IDLE, body: |_| (), local: 0 }; ALL_MAX];
    let mut count = 0;
    for (place, program) in tasks.iter_mut().zip(own) {
        *place = task(setup, program, (ALL_MAX - count) as u8);
        count += 1;
    }
    sections::enable();
    let outcome = scheduler::run(&tasks[..count], setup.start, setup.length, |_| ());
    OUTCOMES.with(|outcomes| outcomes[cpu::index()] = Some(outcome));
}

/// The parameters of a place without a task.
const IDLE: Parameters = Parameters {
    name: "",
    period: Duration::ZERO,
    offset: Duration::ZERO,
    deadline: Duration::ZERO,
    priority: 0,
};

fn task(setup: &Setup, program: &Program<'static>, priority: u8) -> Task {
    let &Program { name, period, offset, .. } = program;
    let mut local = 0;
    for step in program.steps() {
        if let Some((_, Resource::Local(number))) = step.resource.and_then(|it| find(setup, it)) {
            local |= 1 << number;
        }
    }
    Task {
        parameters: Parameters { name, period, offset, deadline: period, priority },
        body: job,
        local,
    }
}

/// A resource and its index.
fn find(setup: &Setup, name: &str) -> Option<(usize, Resource)> {
    let mut all = setup.resources.iter().enumerate();
    all.find_map(|(index, it)| {
        it.filter(|(other, _)| *other == name).map(|(_, resource)| (index, resource))
    })
}

/// A job of the running task.
fn job(_: u64) {
    let Some(setup) = SETUP.get() else { return };
    let clock = Clock::of_machine();
    let own = setup.programs.iter().flatten().filter(|task| task.processor == cpu::index());
    let Some(program) = scheduler::running().and_then(|task| own.clone().nth(task)) else { return };
    let number = setup.programs.iter().position(|it| it.as_ref() == Some(program)).unwrap_or(0);
    let stamp = links::receive(number);
    for step in program.steps() {
        let ticks = clock.ticks(step.time.as_nanos() as u64);
        match step.resource.and_then(|name| find(setup, name)) {
            Some((index, resource)) => section(index, resource, ticks),
            None => scheduler::execute(ticks),
        }
    }
    links::finish(number, stamp);
}

/// A critical section.
fn section(index: usize, resource: Resource, ticks: u64) {
    if let Err(refused) = sections::lock(resource) {
        return println!("tasks: lock refused error={}", refused.0);
    }
    let count = &COUNTS[index];
    if count.inside.fetch_add(1, Relaxed) != 0 {
        count.together.fetch_add(1, Relaxed);
    }
    let before = count.unprotected.load(Relaxed);
    scheduler::execute(ticks);
    count.unprotected.store(before + 1, Relaxed);
    count.sections.fetch_add(1, Relaxed);
    count.inside.fetch_sub(1, Relaxed);
    if let Err(refused) = sections::unlock(resource) {
        println!("tasks: unlock refused error={}", refused.0);
    }
}

fn show_resources(setup: &Setup) {
    for ((name, resource), count) in setup.resources.iter().flatten().zip(&COUNTS) {
        let kind = match resource {
            Resource::Local(_) => "local",
            Resource::Own(_) => "own",
            Resource::Shared(_) => "shared",
        };
        let sections = count.sections.load(Relaxed);
        println!(
            "tasks: resource {name} kind={kind} sections={sections} lost={} together={}",
            sections - count.unprotected.load(Relaxed),
            count.together.load(Relaxed)
        );
    }
}

fn sleep_until(due: u64) {
    counter::set_deadline(due);
    while counter::now() < due {
        cpu::without_interrupts(|| {
            if counter::now() < due {
                cpu::wait_for_interrupt();
            }
        });
    }
}

const _: () = assert!(TASKS_MAX <= ALL_MAX);
