//! `bulkhead measure`: how well does this machine isolate programs from each other?

use std::env;

use lab::made::Made;
use measure::isolation::leech::Place;
use measure::isolation::workload::Workload;
use measure::isolation::{
    Context, Effort, Error, Limits, Options, Point, Progress, Size, Test, Verdict, allowed_cpus,
    available_memory, llc_bytes, measure, standard, test,
};

use super::alone::Alone;
use super::folder::Folder;
use super::options::IsolationOptions;
use super::progress::Bar;
use super::text;
use super::worker::Programs;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;

/// Seed of the times at which leeches that sleep are hit.
const SEED: u64 = 1;
/// One of this number of equal parts of the free memory may be used.
const MEMORY_PARTS: u64 = 2;

/// Runs the command.
pub fn isolation(options: &IsolationOptions, as_json: bool) -> Result<Status, Failure> {
    let signals = Signals::catch()?;
    let options_of_run = plan(options)?;
    let _alone = Alone::here()?;
    let folder = options.output.as_deref().map(Folder::create).transpose()?;
    let this = env::current_exe()
        .map_err(|error| Failure::new("program", format!("cannot find this program: {error}")))?;
    let bar = Bar::new(&options_of_run);
    let mut show = |progress: &Progress| {
        bar.show(progress);
        signals.caught().is_none()
    };
    let ended = || signals.caught().is_some();
    let measured = measure(&options_of_run, &Programs { this }, &mut show, &ended);
    drop(bar);
    let report = match measured {
        Ok(report) => report,
        Err(Error::Ended) => return Ok(signals.caught().map_or(Status::No, Status::Signal)),
        Err(error) => return Err(Failure::new("measurement", help(&error))),
    };
    let document = Made::now("measure").with(&report);
    if let Some(folder) = &folder {
        folder.write(&report, &document)?;
    }
    if as_json {
        json::print(&document)?;
    } else {
        let mut shown = text::report(&report);
        if let Some(folder) = &folder {
            shown.push_str(&format!("\nreport: {}\n", folder.page().display()));
        }
        output::print(&shown)?;
    }
    Ok(match (signals.caught(), report.verdict) {
        (Some(signal), _) => Status::Signal(signal),
        (None, Verdict::Isolated) => Status::Yes,
        (None, Verdict::NotIsolated) => Status::No,
        (None, Verdict::CannotTell) => Status::Open,
    })
}

/// Returns the options of a measurement, checked against the CPUs and memory of this machine.
fn plan(options: &IsolationOptions) -> Result<Options, Failure> {
    let allowed = allowed_cpus();
    let known = |cpu: usize| match allowed.contains(&cpu) {
        true => Ok(cpu),
        false => Err(Failure::new(
            "no-cpu",
            format!("CPU {cpu} cannot be used: this process may use {}", text::list(&allowed)),
        )),
    };
    let last = allowed.last().copied().unwrap_or(0);
    let victim_cpu = known(options.cpu.unwrap_or(last))?;
    let leech_cpus = match options.leech_cpus.as_slice() {
        [] => allowed.iter().copied().filter(|cpu| *cpu != victim_cpu).collect(),
        given => given.iter().map(|cpu| known(*cpu)).collect::<Result<Vec<usize>, Failure>>()?,
    };
    if leech_cpus.contains(&victim_cpu) {
        return Err(Failure::new(
            "same-cpu",
            format!("CPU {victim_cpu} is the victim's: name other CPUs for leeches"),
        ));
    }
    let memory_bytes = match available_memory() {
        Ok(bytes) => bytes / MEMORY_PARTS,
        Err(missing) => return Err(Failure::new("memory", missing)),
    };
    let limits =
        Limits { llc_bytes: llc_bytes(victim_cpu), leech_cpus: leech_cpus.len(), memory_bytes };
    let effort = match (options.quick, options.full) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Full,
        _ => Effort::Standard,
    };
    let (tests, time) = match options.victim.as_slice() {
        [] => (standard(effort, &limits), effort.time()),
        victims => {
            let counts = options.count.clone().unwrap_or(1..=1);
            let leeches = options.leech.iter().flat_map(|sweep| &sweep.0);
            let points: Vec<Point> = leeches
                .flat_map(|leech| counts.clone().map(|count| Point { leech: leech.clone(), count }))
                .collect();
            let workloads = victims.iter().flat_map(|sweep| &sweep.0);
            let own = |it: &Workload| test(&it.to_string(), it.clone(), points.clone());
            (workloads.map(own).collect(), None)
        }
    };
    fit(&tests, &limits)?;
    let contexts = match options.context.as_slice() {
        [] => vec![Context { name: "native".into(), command: None }],
        given => given.to_vec(),
    };
    let mut names: Vec<&str> = contexts.iter().map(|context| context.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Failure::new("same-name", format!("two contexts are called `{}`", twice[0])));
    }
    Ok(Options {
        // Each context takes its time.
        time: time.filter(|_| options.runs.is_none()).map(|time| time * contexts.len() as u32),
        contexts,
        tests,
        runs: options.runs.unwrap_or(effort.runs()),
        tolerance: options.tolerance,
        victim_cpu,
        leech_cpus,
        timeout: options.timeout,
        seed: SEED,
    })
}

/// Refuses tests for which this machine has no room.
fn fit(tests: &[Test], limits: &Limits) -> Result<(), Failure> {
    for test in tests {
        for point in &test.points {
            if point.leech.kind.place() == Place::Other && limits.leech_cpus == 0 {
                return Err(Failure::new(
                    "one-cpu",
                    format!(
                        "leech {}: needs another CPU than the victim's, and there is none\n\
                         help: on one CPU `cpu` and `timers` can be measured",
                        point.leech
                    ),
                ));
            }
            let needed = point.bytes().saturating_add(test.workload.bytes());
            if needed > limits.memory_bytes {
                return Err(Failure::new(
                    "memory",
                    format!(
                        "{} beside {} x {} need {}, and {} may be used (half of what is free)\n\
                         help: take smaller or fewer buffers",
                        test.workload,
                        point.count,
                        point.leech,
                        Size(needed),
                        Size(limits.memory_bytes & !((1 << 20) - 1)),
                    ),
                ));
            }
        }
    }
    Ok(())
}

fn help(error: &Error) -> String {
    match error {
        Error::Timeout { .. } => {
            format!("{error}\nhelp: allow more with --timeout, or take a smaller workload")
        }
        _ => error.to_string(),
    }
}
