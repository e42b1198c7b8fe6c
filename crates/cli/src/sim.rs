//! `bulkhead sim`: what happens in a system, by the code that decides at run time.

mod chains;
mod forecast;
mod limits;
mod options;
mod results;
mod run;

use std::cell::RefCell;
use std::io::BufWriter;
use std::path::Path;

use lab::WholeFile;
use lab::chains::Seen;
use lab::load::{self, Input};
use lab::simulate::{UNTIL, like, recording};
use model::Model;
use sim::{Limits, Silent, Simulation};

pub use options::SimOptions;

use crate::failure::Failure;
use crate::json;
use crate::keep;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;
use chains::Following;
use forecast::Forecast;
use options::Until;
use results::Results;
use run::{Ended, run};

/// Runs the command.
pub fn sim(options: &SimOptions, as_json: bool) -> Result<Status, Failure> {
    if let Some(target) = &options.trace {
        keep::description(target, &options.file)?;
        keep::files(target, options.like.as_deref())?;
    }
    let (plan, described) = match load::read(&options.file)? {
        Input::Plan(plan) => (*plan, None),
        Input::Description(system) => (load::plan_or_outline(&system)?, Some(system)),
    };
    let mut model = Model::new(&plan, described.as_deref(), &options.assumptions());
    let traced = options.like.as_ref().map(|trace| like::read(trace, &mut model)).transpose()?;
    let default = Until::Time(traced.unwrap_or(UNTIL));
    let until = options.until.unwrap_or(default);
    let is_hyperperiod = until == Until::Hyperperiod;
    let until = match until {
        Until::Time(time) => time,
        Until::Hyperperiod => model.hyperperiod().ok_or_else(|| {
            Failure::new(
                "no-hyperperiod",
                "nothing repeats here, or only after centuries\nhelp: give a time, as `--until 10s`",
            )
        })?,
    };
    if let Some(described) = &described {
        limits::check(described, &model)?;
    }
    let limits = Limits { until: until.0, events: options.events.unwrap_or(u64::MAX) };
    let mut simulation = Simulation::new(&model.system, options.seed)
        .map_err(|error| Failure::new("simulation", error))?;
    let signals = Signals::catch()?;
    let forecast = is_hyperperiod.then(|| Forecast::new(until.0));
    if let Some(forecast) = &forecast {
        output::error(&forecast.text());
    }
    let watch = described.as_deref().and_then(|system| chains::watch(system, &model));
    let watch = watch.map(RefCell::new);
    let ended = match (&options.trace, &watch) {
        (None, None) => run(&mut simulation, limits, &mut Silent, &signals, forecast),
        (None, Some(watch)) => {
            let mut observer = Following { inner: &mut Silent, watch };
            run(&mut simulation, limits, &mut observer, &signals, forecast)
        }
        (Some(path), watch) => {
            let failed = |error| cannot_write(path, error);
            let file = WholeFile::create(path).map(BufWriter::new).map_err(failed)?;
            let mut recorder =
                recording::start(file, &plan, described.as_deref(), &model).map_err(failed)?;
            let ended = match watch {
                None => run(&mut simulation, limits, &mut recorder, &signals, forecast),
                Some(watch) => {
                    let mut observer = Following { inner: &mut recorder, watch };
                    run(&mut simulation, limits, &mut observer, &signals, forecast)
                }
            };
            let file = recorder.finish().map_err(failed)?;
            let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
            file.finish().map_err(failed)?;
            ended
        }
    };
    let observed = watch.map(|watch| watch.into_inner().observed());
    let chains = match (&described, observed) {
        (Some(system), Some(observed)) => Seen::all(load::verdict(&plan, system)?, &observed),
        _ => Vec::new(),
    };
    let results = Results::new(&plan.name, options, &model, (&simulation, until), &ended);
    let results = results.with_chains(chains);
    match as_json {
        true => json::print(&results)?,
        false => output::print(&results.text())?,
    }
    Ok(match ended {
        Ended::Signal(signal) => Status::Signal(signal),
        _ if !results.ok() => Status::No,
        _ => Status::Yes,
    })
}

fn cannot_write(path: &Path, error: std::io::Error) -> Failure {
    Failure::new("cannot-write", format!("cannot write {}: {error}", path.display()))
}
