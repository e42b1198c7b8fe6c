//! The results of a simulation, for people.

mod memory;

use lab::chains::Seen;
use lab::simulate::results::{Results, Task, Vcpu};
use model::{Accesses, Contention};
use report::text::table;
use units::Duration;

use crate::check::chains;

/// The results of a simulation in which memory was accessed like this, if it was.
pub fn text(results: &Results, accesses: Option<&Accesses>) -> String {
    let verdict = match (&results.overload, results.missed_deadlines) {
        (Some(overload), _) => format!("not schedulable: {overload}"),
        (None, 0) if results.tasks.is_empty() => "there are no tasks".into(),
        (None, 0) => "no deadline was missed".into(),
        (None, 1) => "1 deadline was missed".into(),
        (None, missed) => format!("{missed} deadlines were missed"),
    };
    let late = match results.chains.iter().filter(|chain| chain.is_late()).count() {
        0 => String::new(),
        1 => "; 1 chain took longer than it may".into(),
        late => format!("; {late} chains took longer than they may"),
    };
    let (of_all, ended) = match results.ended {
        "interrupted" => (format!(" of {} s", seconds(results.until_ns)), ", interrupted"),
        _ => (String::new(), ""),
    };
    let mut text = format!(
        "{}: {verdict}{late}\nsimulated {} s{of_all}, {} events{ended}\n",
        results.file,
        seconds(results.simulated_ns),
        results.events
    );
    if !results.tasks.is_empty() {
        text.push_str(&format!("\n{}", task_table(&results.tasks)));
    }
    text.push_str(&chains::seen(&results.chains));
    let above = results.chains.iter().flat_map(Seen::above_bounds);
    text.extend(above.map(|above| format!("{above}\n")));
    text.push_str(&format!("\n{}", vcpu_table(&results.vcpus)));
    if accesses.is_some() {
        text.push_str(&format!("\n{}", memory::table(&results.vcpus)));
    }
    text.push_str(&loads(&results.vcpus));
    text.push_str(accesses.map_or("", assumptions));
    text
}

fn task_table(tasks: &[Task]) -> String {
    let row = |task: &Task| {
        vec![
            task.vm.clone(),
            task.vcpu.to_string(),
            task.task.clone(),
            Duration(task.period_ns).to_string(),
            task.jobs.to_string(),
            micros(task.response_min_ns),
            micros(task.response_mean_ns),
            micros(task.response_max_ns),
            micros(Some(task.deadline_ns)),
            task.missed_deadlines.to_string(),
        ]
    };
    let rows: Vec<_> = tasks.iter().map(row).collect();
    let heading = [
        "VM",
        ">VCPU",
        "task",
        ">period",
        ">jobs",
        ">min us",
        ">mean us",
        ">max us",
        ">deadline us",
        ">missed",
    ];
    table(&heading, &rows)
}

fn vcpu_table(vcpus: &[Vcpu]) -> String {
    let row = |vcpu: &Vcpu| {
        let time = |time: Option<u64>| time.map_or("-".into(), |ns| Duration(ns).to_string());
        vec![
            vcpu.pcpu.to_string(),
            vcpu.vm.clone(),
            vcpu.vcpu.to_string(),
            vcpu.server.unwrap_or("whole PCPU").into(),
            time(vcpu.budget_ns),
            time(vcpu.period_ns),
            vcpu.load.into(),
            percent(vcpu.supply_ppm),
            vcpu.budget_used_ppm.map_or("-".into(), percent),
            vcpu.dispatches.to_string(),
        ]
    };
    let rows: Vec<_> = vcpus.iter().map(row).collect();
    let heading = [
        ">PCPU",
        "VM",
        ">VCPU",
        "server",
        ">budget",
        ">period",
        "load",
        ">% of PCPU",
        ">% of budget",
        ">dispatches",
    ];
    table(&heading, &rows)
}

/// Returns the assumptions about the loads of VCPUs that the description does not state.
fn loads(vcpus: &[Vcpu]) -> String {
    let with = |load: &str| {
        let vcpus = vcpus.iter().filter(|vcpu| vcpu.load == load);
        let names: Vec<_> = vcpus.map(|vcpu| format!("{}/{}", vcpu.vm, vcpu.vcpu)).collect();
        names.join(", ")
    };
    let mut text = String::new();
    for (load, what) in [
        ("busy", "these VCPUs are always busy"),
        ("idle", "these VCPUs are always idle"),
        ("tasks and more", "these VCPUs are always busy, with less urgent work than their tasks"),
    ] {
        let vcpus = with(load);
        if !vcpus.is_empty() {
            text.push_str(&format!("\nassumed: {what}: {vcpus}"));
        }
    }
    if !text.is_empty() {
        text.push_str("\n(`--assume busy` or `--assume idle`)\n");
    }
    text
}

fn percent(ppm: u64) -> String {
    format!("{}.{:02}", ppm / 10_000, ppm % 10_000 / 100)
}

/// Nanoseconds as microseconds, exact.
fn micros(ns: Option<u64>) -> String {
    ns.map_or("-".into(), |ns| format!("{}.{:03}", ns / 1_000, ns % 1_000))
}

fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Returns the assumption about memory accesses.
fn assumptions(accesses: &Accesses) -> &'static str {
    match (accesses.budgets, accesses.latency, accesses.contention) {
        (false, ..) => "\nmemory budgets are not simulated: they do not count memory accesses\n",
        (_, None, _) => {
            "\nassumed: no access delays another one, and VCPUs make no accesses but those of their \
             tasks: the platform has no access_latency\n"
        }
        (.., Contention::Stream) => {
            "\nassumed: busy VCPUs make one memory access after the other\n\
             (`--contention stream`, `worst` or `none`)\n"
        }
        (.., Contention::Worst) => {
            "\nassumed: busy VCPUs make a memory access whenever a task of another PCPU does\n\
             (`--contention stream`, `worst` or `none`)\n"
        }
        (.., Contention::None) => {
            "\nassumed: no access delays another one (`--contention stream`, `worst` or `none`)\n"
        }
    }
}
