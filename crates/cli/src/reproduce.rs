//! `bulkhead reproduce`: measures again what papers have published.

mod allocation;
mod bench;
mod boot;
mod boots;
mod changes;
mod claim;
mod expected;
mod experiment;
mod figures;
mod folder;
mod job;
mod locks;
mod papers;
mod points;
mod promised;
mod published;
mod results;
mod sets;
mod template;
mod timeline;
pub mod traffic;
mod values;
mod variant;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::arguments::ReproduceOptions;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;
use crate::table::table;
use experiment::Experiment;
use papers::Papers;
use results::{Document, Results};
use values::Wanted;

/// Where results go in the folder of the project.
const OUTPUT: &str = "build/reproduce";

/// Runs the command.
pub fn reproduce(options: &ReproduceOptions, as_json: bool) -> Result<Status, Failure> {
    if options.list {
        return list(as_json);
    }
    // All mistakes of the command line come before the first boot.
    let experiments = folder::experiments(&options.names)?;
    let all = folder::is_all(&options.names);
    let papers = if all { Papers::read(&folder::find()?)? } else { Papers::default() };
    let expected = options.expect.as_ref().map(|folder| expected::read(&experiments, folder));
    let expected = expected.transpose()?;
    let signals = Signals::catch()?;
    let output = match &options.output {
        Some(output) => output.clone(),
        None => project()?.join(OUTPUT),
    };
    let jobs = options.jobs.or_else(|| std::thread::available_parallelism().ok());
    let jobs = jobs.unwrap_or(NonZeroUsize::MIN);
    let mut done = Vec::new();
    let mut failed = Vec::new();
    let mut ended = None;
    for experiment in &experiments {
        let (results, end) = match options.judge {
            true => (Results::again(experiment, &output)?, None),
            false => measure(experiment, options.quick, jobs, &signals, &output)?,
        };
        let folder = results.write(&output)?;
        if !as_json {
            let blank = if done.is_empty() { "" } else { "\n" };
            output::print(&format!("{blank}{}", results.text(&folder)))?;
        }
        done.push((results, folder));
        match end {
            // Hours of other experiments do not depend on this one.
            Some(End::Failed(failure)) if all => {
                output::error(&format!("{}: ", experiment.name));
                failure.report(false);
                failed.push(experiment.name.as_str());
            }
            Some(end) => {
                ended = Some(end);
                break;
            }
            None => {}
        }
    }
    if all && ended.is_none() {
        let results: Vec<&Results> = done.iter().map(|(results, _)| results).collect();
        published::write(&papers, &results, &output)?;
    }
    let changes = expected.map(|expected| {
        let both = expected.iter().zip(&done);
        both.flat_map(|(was, (is, _))| expected::changes(was, is)).collect::<Vec<_>>()
    });
    match (&options.expect, &changes) {
        (Some(folder), Some(changes)) if !as_json => {
            output::print(&expected::text(changes, folder))?;
        }
        _ => {}
    }
    let holds = match &changes {
        Some(changes) => changes.is_empty(),
        None => done.iter().all(|(results, _)| results.hold()),
    };
    if as_json {
        json::print(&Answer::new(holds, &done))?;
    }
    match ended {
        Some(End::Failed(failure)) => Err(failure),
        Some(End::Signal(signal)) => Ok(Status::Signal(signal)),
        None if !failed.is_empty() => {
            let text = format!("no complete results of {}: see above", failed.join(", "));
            Err(Failure::new("experiments-failed", text))
        }
        None if holds => Ok(Status::Yes),
        None => Ok(Status::No),
    }
}

/// Why not all was measured.
enum End {
    Failed(Failure),
    Signal(i32),
}

/// Measures an experiment. What was finished before it ended is kept.
fn measure<'a>(
    experiment: &'a Experiment,
    quick: bool,
    jobs: NonZeroUsize,
    signals: &Signals,
    output: &Path,
) -> Result<(Results<'a>, Option<End>), Failure> {
    let folder = output.join(&experiment.name);
    let drawn = match (&experiment.plan.allocation, &experiment.plan.locks) {
        (Some(it), _) => Some(allocation::run(experiment, it, quick, jobs, signals, &folder)?),
        (None, Some(it)) => Some(locks::run(experiment, it, quick, jobs, signals, &folder)?),
        (None, None) => None,
    };
    if let Some(done) = drawn {
        let values = done.values.divided(experiment.plan.divide_by.as_ref());
        let results = Results::new(experiment, values, quick, done.complete).with_note(done.note);
        return Ok((results, done.signal.map(End::Signal)));
    }
    let wanted = Wanted::new(experiment, quick);
    let instructions = match wanted.needs_bench() {
        true => bench::rows(&project()?)?,
        false => BTreeMap::new(),
    };
    let done = boots::run(&experiment.name, &wanted.boots, jobs, signals);
    let (values, lacking) = wanted.values(&done.observed, &instructions);
    let all = lacking.is_none() && done.observed.iter().all(Option::is_some);
    let values = values.divided(experiment.plan.divide_by.as_ref());
    let end = match (done.failure.or(lacking), done.signal) {
        (Some(failure), _) => Some(End::Failed(failure)),
        (None, Some(signal)) => Some(End::Signal(signal)),
        (None, None) => None,
    };
    timeline::write(experiment, &folder, |runs| wanted.observed(runs, &done.observed))?;
    let results = Results::new(experiment, values, quick, all);
    if experiment.plan.changes.is_empty() {
        return Ok((results, end));
    }
    let tasks = experiment.plan.tasks();
    let note = changes::table(&experiment.plan.changes, &results.values, &tasks);
    Ok((results.with_note(note), end))
}

/// The folder that the folder of experiments is in.
fn project() -> Result<PathBuf, Failure> {
    let experiments = folder::find()?;
    Ok(experiments.parent().unwrap_or(Path::new(".")).to_owned())
}

/// `--list`.
fn list(as_json: bool) -> Result<Status, Failure> {
    let found = folder::list(&folder::find()?)?;
    if as_json {
        let experiments = found.iter().map(|(name, title)| Named { name, title }).collect();
        json::print(&List { ok: true, experiments })?;
    } else {
        let rows: Vec<_> = found.into_iter().map(|(name, title)| vec![name, title]).collect();
        output::print(&table(&["experiment", "shows"], &rows))?;
    }
    Ok(Status::Yes)
}

#[derive(Serialize)]
struct List<'a> {
    ok: bool,
    experiments: Vec<Named<'a>>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct Answer<'a> {
    ok: bool,
    experiments: Vec<Document<'a>>,
}

impl<'a> Answer<'a> {
    fn new(ok: bool, done: &'a [(Results<'a>, PathBuf)]) -> Self {
        Self {
            ok,
            experiments: done.iter().map(|(results, folder)| results.document(folder)).collect(),
        }
    }
}
