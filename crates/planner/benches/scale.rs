//! How the time and the memory of `bulkhead check` and `bulkhead plan` grow with a system.
//!
//! Each measurement is a process of its own: it reads a description, plans what is open and judges
//! the result, as the commands do, and says what processor time and memory that took.
//! `cargo bench -p bulkhead-planner --bench scale` prints all tables; a number behind it, the table
//! up to so many tasks.

use std::path::Path;
use std::process::Command;
use std::time::Duration as Time;

use planner::completion::{Objective, Options, Refusal, complete_with};
use rustix::time::{ClockId, clock_gettime};
use system::description::System;
use system::plan;
use testing::{Large, Open};
use verdict::Verdict;

/// Numbers of tasks.
const TASKS: [u64; 7] = [10, 30, 100, 300, 1_000, 3_000, 10_000];
/// Of a process that measures: behind it the number of the case and that of tasks.
const CASE: &str = "--case";
/// It only prints the description.
const PRINT: &str = "--print";

/// A measured system.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    /// The system, but for its tasks, if these are not its own number.
    large: Large,
    /// The search goes on for this time.
    time: Option<Time>,
}

/// Eight VMs with two VCPUs each on eight PCPUs.
const EIGHT: Large = Large {
    pcpus: 8,
    vms: 8,
    vcpus: 2,
    tasks: 0,
    resources: 0,
    own: 0,
    colors: false,
    limits: false,
    load: 200,
    open: Open::Nothing,
    seed: 1,
};

/// Columns of the table by number of tasks.
fn columns() -> [Case; 6] {
    let case = |name, large| Case { name, large, time: None };
    let open = |open| Large { open, ..EIGHT };
    let everything = open(Open::Everything);
    [
        case("check, one VCPU", Large { pcpus: 1, vms: 1, vcpus: 1, load: 60, ..EIGHT }),
        case("check", EIGHT),
        case("plan, all given", EIGHT),
        case("plan, budgets open", open(Open::Budgets)),
        case("plan, all open", everything),
        case("plan, all open, colours", Large { colors: true, ..everything }),
    ]
}

/// Rows of the other table.
fn rows() -> Vec<(Case, u64)> {
    let everything = Large { open: Open::Everything, colors: true, ..EIGHT };
    let coupled = Large { resources: 16, limits: true, load: 200, ..everything };
    // 16 resources: each pair of VMs shares two, and each VM has three of its own.
    let mixed = Large { resources: 4, own: 12, ..coupled };
    let wide = Large { pcpus: 64, vms: 32, vcpus: 3, load: 1_600, ..everything };
    let case = |name, large| Case { name, large, time: None };
    let for_time =
        |name, large, seconds| Case { name, large, time: Some(Time::from_secs(seconds)) };
    vec![
        (case("8 VMs", everything), 200),
        (case("8 VMs, limits", Large { resources: 0, ..coupled }), 200),
        (for_time("8 VMs, limits, 10 s", Large { resources: 0, ..coupled }, 10), 200),
        (for_time("8 VMs, limits, 60 s", Large { resources: 0, ..coupled }, 60), 200),
        (case("8 VMs, resources", Large { limits: false, ..coupled }), 200),
        (case("8 VMs, resources, limits", coupled), 200),
        (for_time("8 VMs, own resources, limits, 1 s", mixed, 1), 200),
        (for_time("8 VMs, own resources, limits, 10 s", mixed, 10), 200),
        (for_time("8 VMs, own resources, limits, 60 s", mixed, 60), 200),
        (case("32 VMs, 64 PCPUs", wide), 1_000),
        (for_time("32 VMs, 64 PCPUs, 1 s", wide, 1), 1_000),
        (for_time("32 VMs, 64 PCPUs, 10 s", wide, 10), 1_000),
        (for_time("32 VMs, 64 PCPUs, 60 s", wide, 60), 1_000),
        (case("32 VMs, 64 PCPUs, limits", Large { limits: true, ..wide }), 1_000),
        (case("32 VMs, 64 PCPUs, resources", Large { resources: 64, ..wide }), 1_000),
    ]
}

/// What a process measured.
struct Measured {
    seconds: f64,
    megabytes: u64,
    result: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == CASE) {
        let number = |place: usize| arguments[at + place].parse::<u64>().expect("a number");
        return measure(number(1) as usize, number(2));
    }
    // Not if the benchmark only has to be shown to work (`cargo test --benches`).
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let wanted = |name: &str| match arguments.iter().position(|it| it == "--only") {
        Some(at) => arguments.get(at + 1).is_some_and(|part| name.contains(part)),
        None => true,
    };
    let most = arguments.iter().rev().find_map(|argument| argument.parse().ok());
    let most = most.unwrap_or(TASKS[TASKS.len() - 1]);
    println!("CPU time and peak memory by number of tasks in 8 VMs with 16 VCPUs (or in one):\n");
    println!("| | {} |", TASKS.map(|tasks| tasks.to_string()).join(" | "));
    println!("|---|{}", "---:|".repeat(TASKS.len()));
    for (index, column) in columns().iter().enumerate().filter(|(_, it)| wanted(it.name)) {
        let cells = TASKS.iter().filter(|tasks| **tasks <= most).map(|&tasks| {
            let Measured { seconds, megabytes, result } = run(index, tasks);
            format!("{}, {megabytes} MB{result}", time(seconds))
        });
        println!("| {} | {} |", column.name, cells.collect::<Vec<_>>().join(" | "));
    }
    println!("\n| | tasks | time | memory | result |\n|---|---:|---:|---:|---|");
    for (index, (row, tasks)) in rows().into_iter().enumerate().filter(|(_, it)| wanted(it.0.name))
    {
        let Measured { seconds, megabytes, result } = run(columns().len() + index, tasks);
        println!("| {} | {tasks} | {} | {megabytes} MB | {result} |", row.name, time(seconds));
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        0.0..0.1 => format!("{:.1} ms", seconds * 1e3),
        0.1..1.0 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.1} s"),
    }
}

/// Measures in a process of its own.
fn run(case: usize, tasks: u64) -> Measured {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .args([CASE, &case.to_string(), &tasks.to_string()])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text.trim().splitn(3, ' ');
    let mut number = || words.next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(f64::NAN);
    let (seconds, megabytes) = (number(), number() as u64);
    let result = words.next().unwrap_or("").to_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Measured { seconds, megabytes, result }
}

/// Measures one case and prints seconds, megabytes and the result.
fn measure(case: usize, tasks: u64) {
    let all = columns().into_iter().chain(rows().into_iter().map(|it| it.0));
    let Case { large, time, .. } = all.into_iter().nth(case).expect("a case");
    let text = Large { tasks, ..large }.to_toml();
    if std::env::args().any(|argument| argument == PRINT) {
        return print!("{text}");
    }
    let start = now();
    let mut described = System::from_toml("large.toml", &text, Path::new(""))
        .unwrap_or_else(|errors| panic!("{errors}"));
    let is_open = described.is_open();
    let options = Options { objective: Objective::LeastTime, time, ..Options::default() };
    let planned = complete_with(&mut described, &options);
    let result = match &planned {
        Ok(_) => {
            let vcpus = plan::assign(&described).expect("PCPUs");
            let verdict = match described.platform.value.boot.is_ok() {
                true => plan::make(&described).map(|it| Verdict::of_plan(&it, Some(&described))),
                false => Ok(Verdict::of_description(&described, &vcpus)),
            };
            match verdict {
                Ok(verdict) if verdict.schedulable && is_open => quality(&described),
                Ok(verdict) if verdict.schedulable => String::new(),
                Ok(_) => " late".into(),
                Err(errors) => format!(" {errors}"),
            }
        }
        Err(Refusal::NoPlan(errors) | Refusal::Input(errors)) => {
            eprintln!("{errors}");
            " no plan".into()
        }
    };
    let seconds = (now() - start).as_secs_f64();
    println!("{seconds} {} {result}", peak() / 1_024);
}

/// What the VCPUs of a plan have together, and their limits.
fn quality(planned: &System) -> String {
    let vcpus = planned.vms.iter().flat_map(|vm| &vm.vcpus);
    let budgets = vcpus.filter_map(|vcpu| vcpu.server.as_ref()?.class.value.budget());
    let share: f64 = budgets.map(|it| it.budget.0 as f64 / it.period.0 as f64).sum();
    let counter = planned.platform.value.bandwidth.as_ref();
    let limits = planned.limits().filter_map(|limit| limit.budget(counter?));
    let rate: f64 = limits.map(|it| it.accesses as f64 * 1e3 / it.period.0 as f64).sum();
    let rate = if rate > 0.0 { format!(", {rate:.2} accesses/us") } else { String::new() };
    format!(" {share:.3} PCPUs{rate}")
}

/// Processor time of this process.
fn now() -> Time {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("time goes forward")
}

/// The most memory of this process so far, in KiB; 0 where that is not known.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
