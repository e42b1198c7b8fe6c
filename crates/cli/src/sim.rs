//! `bulkhead sim`: simulates a system, with the code that decides at run time.

mod forecast;
mod options;
mod progress;
mod text;

use std::io::BufWriter;
use std::path::Path;

use lab::WholeFile;
use lab::chains::Seen;
use lab::keep;
use lab::load::{self, Input};
use lab::simulate::chains::{self, Following};
use lab::simulate::results::{Asked, Results};
use lab::simulate::{Ended, UNTIL, like, limits, recording, run};
use model::{Assumptions, Execution, Model};
use sim::{Limits, Silent, Simulation};

pub use options::SimOptions;

use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;
use forecast::Forecast;
use options::Until;
use progress::Progress;

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
    let mut progress = Progress::new(limits, forecast);
    let mut caught = None;
    let stops = |simulation: &Simulation| {
        caught = signals.caught();
        if caught.is_none() {
            progress.show(simulation);
        }
        caught.is_some()
    };
    let mut watch = described.as_deref().and_then(|system| chains::watch(system, &model));
    let ended = match &options.trace {
        None => {
            let mut observer = Following { inner: &mut Silent, watch: watch.as_mut() };
            run(&mut simulation, limits, &mut observer, stops)
        }
        Some(path) => {
            let failed = |error| cannot_write(path, error);
            let file = WholeFile::create(path).map(BufWriter::new).map_err(failed)?;
            let mut recorder =
                recording::start(file, &plan, described.as_deref(), &model).map_err(failed)?;
            let mut observer = Following { inner: &mut recorder, watch: watch.as_mut() };
            let ended = run(&mut simulation, limits, &mut observer, stops);
            let file = recorder.finish().map_err(failed)?;
            let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
            file.finish().map_err(failed)?;
            ended
        }
    };
    progress.clear();
    let observed = watch.map(|watch| watch.observed());
    let chains = match (&described, observed) {
        (Some(system), Some(observed)) => Seen::all(load::verdict(&plan, system)?, &observed),
        _ => Vec::new(),
    };
    let assumptions = match options.like {
        Some(_) => Assumptions { execution: Execution::Traced, ..options.assumptions() },
        None => options.assumptions(),
    };
    let (file, system, seed) = (&*options.file, &*plan.name, options.seed);
    let asked = Asked { file, system, until, assumptions, seed };
    let results = Results::new(&asked, &model, &simulation, &ended, chains);
    match as_json {
        true => json::print(&results)?,
        false => output::print(&text::text(&results, model.accesses.as_ref()))?,
    }
    Ok(match caught {
        Some(signal) if ended == Ended::Interrupted => Status::Signal(signal),
        _ if !results.ok => Status::No,
        _ => Status::Yes,
    })
}

fn cannot_write(path: &Path, error: std::io::Error) -> Failure {
    Failure::file("cannot-write", format!("cannot write {}: {error}", path.display()))
}
