//! `bulkhead sweep`: experiments over random systems.

mod dask;
mod options;
mod results;

use std::num::NonZeroUsize;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use lab::load;
use lab::made::Made;
use sweep::{Experiment, Finished, Journal, Summary};

pub use options::SweepOptions;

use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;
use results::Results;

/// Runs the command.
pub fn sweep(options: &SweepOptions, as_json: bool) -> Result<Status, Failure> {
    let file = options.file.display().to_string();
    let experiment = Experiment::from_toml(&file, &load::text(&options.file)?)?;
    let folder = options.folder();
    if !options.again
        && let Some(finished) = Finished::find(&folder, &experiment)
    {
        return show(&already(&file, &folder, experiment, finished), as_json, None);
    }
    let signals = Signals::catch()?;
    if let Some(address) = &options.dask {
        // A folder that cannot be used is told before a cluster is asked.
        drop(Journal::open(&folder, &experiment)?);
        dask::run(&options.file, &folder, address, &signals)?;
    }
    let mut journal = Journal::open(&folder, &experiment)?;
    if options.dask.is_none() {
        here(options, &experiment, &mut journal, &signals)?;
    }
    let complete = journal.open_shards(&experiment).is_empty();
    let summary = Summary::new(&experiment, &journal);
    let finished = journal.shards().count() as u64;
    let table = complete.then(|| journal.finish(&experiment)).transpose()?;
    let (file, folder, already) = (&*file, &*folder, false);
    let results = Results { file, folder, table, already, finished, experiment, summary };
    show(&results, as_json, signals.caught().filter(|_| !complete))
}

/// The results of a sweep that was complete before.
fn already<'a>(
    file: &'a str,
    folder: &'a Path,
    experiment: Experiment,
    finished: Finished,
) -> Results<'a> {
    let summary = Summary::of(&experiment, finished.shards());
    let (table, shards) = (Some(finished.table), experiment.shards());
    Results { file, folder, table, already: true, finished: shards, experiment, summary }
}

/// `signal`: the signal that ended the sweep before it was complete.
fn show(results: &Results<'_>, as_json: bool, signal: Option<i32>) -> Result<Status, Failure> {
    match as_json {
        true => json::print(&Made::now("sweep").with(&results.document()))?,
        false => output::print(&results.text())?,
    }
    Ok(match signal {
        _ if !results.summary.holds() => Status::No,
        Some(signal) => Status::Signal(signal),
        None => Status::Yes,
    })
}

/// Computes the unfinished shards on this machine.
fn here(
    options: &SweepOptions,
    experiment: &Experiment,
    journal: &mut Journal,
    signals: &Signals,
) -> Result<(), Failure> {
    let jobs = options.jobs.or_else(|| std::thread::available_parallelism().ok());
    let jobs = jobs.unwrap_or(NonZeroUsize::MIN);
    let bar = progress(experiment);
    let done = journal.fill(experiment, jobs, |finished| {
        bar.set_position(finished);
        bar.tick();
        signals.caught().is_none()
    });
    bar.finish_and_clear();
    done?;
    Ok(())
}

/// Returns a progress bar on the standard error, if that is a terminal.
fn progress(experiment: &Experiment) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}  {wide_bar} {pos}/{len} shards, {eta} left")
        .expect("the template is right");
    let bar = ProgressBar::new(experiment.shards()).with_style(style);
    bar.with_message(experiment.title().to_owned())
}

impl From<::sweep::Error> for Failure {
    fn from(error: ::sweep::Error) -> Self {
        Self::new("sweep", error)
    }
}
