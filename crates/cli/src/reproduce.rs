//! `bulkhead reproduce`: repeats measurements that papers have published.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use experiments::experiment::Experiment;
use experiments::papers::Papers;
use experiments::results::{Document, Results};
use experiments::{expected, folder, project, published};
use indicatif::{ProgressBar, ProgressStyle};
use lab::Watch;
use lab::made::Made;
use report::text::table;
use serde::Serialize;

use crate::arguments::ReproduceOptions;
use crate::failure::Failure;
use crate::format::Format;
use crate::json;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;

/// The folder for results in that of the project.
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
                failure.report(Format::Text, None);
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
        json::print(&Made::now("reproduce").with(&Answer::new(holds, &done)))?;
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

/// The reason why not all was measured.
enum End {
    Failed(Failure),
    Signal(i32),
}

/// Measures an experiment. Values that were finished before it ended are kept.
fn measure<'a>(
    experiment: &'a Experiment,
    quick: bool,
    jobs: NonZeroUsize,
    signals: &Signals,
    output: &Path,
) -> Result<(Results<'a>, Option<End>), Failure> {
    let bar = Bar { signals, bar: RefCell::new(ProgressBar::hidden()) };
    let measured = experiments::measure(experiment, quick, jobs, &bar, output);
    bar.bar.borrow().finish_and_clear();
    let (results, failure) = measured?;
    let signal = || signals.caught().map(End::Signal);
    Ok((results, failure.map(|it| End::Failed(it.into())).or_else(signal)))
}

/// Looks for signals, and shows on a terminal how far it is.
struct Bar<'a> {
    signals: &'a Signals,
    bar: RefCell<ProgressBar>,
}

impl Watch for Bar<'_> {
    fn stops(&self) -> bool {
        self.signals.stops()
    }

    fn begin(&self, what: &str, unit: &str, all: u64) {
        let template = format!("{{msg}}  {{wide_bar}} {{pos}}/{{len}} {unit}, {{eta}} left");
        let style = ProgressStyle::with_template(&template)
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        *self.bar.borrow_mut() =
            ProgressBar::new(all).with_style(style).with_message(what.to_owned());
    }

    fn done(&self, parts: u64) {
        self.bar.borrow().set_position(parts);
    }

    fn tick(&self) {
        self.bar.borrow().tick();
    }
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
