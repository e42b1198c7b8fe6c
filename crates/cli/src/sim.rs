//! `bulkhead sim`: what happens in a system, by the code that decides at run time.

mod like;
mod options;
mod recording;
mod results;
mod run;

use std::io::BufWriter;
use std::path::Path;

use bulkhead_system::plan;
use bulkhead_system::units::Duration;
use model::{Contention, Model};
use sim::{Limits, Silent, Simulation};
use trace::Trace;

pub use options::SimOptions;

use crate::failure::Failure;
use crate::input::{self, Input};
use crate::json;
use crate::output;
use crate::run::signals::Signals;
use crate::status::Status;
use crate::whole_file::WholeFile;
use options::Until;
use results::Results;
use run::{Ended, run};

/// Where a simulation ends if nothing else is said.
const UNTIL: Duration = Duration(10_000_000_000);

/// What happens in a system, for other commands. `like`: an execution in which there was the same to do;
/// until its end if nothing else is said. `change` may change what is simulated.
pub fn simulate(
    system: &input::System,
    like: Option<&Trace>,
    until: Option<Duration>,
    change: impl FnOnce(&mut sim::System),
) -> Result<Trace, Failure> {
    trace_of(system, &SimOptions::of(&system.file), like, until, change)
}

/// The same where accesses to memory meet as badly as they can, for so long.
pub fn simulate_worst(system: &input::System, until: Duration) -> Result<Trace, Failure> {
    let options = SimOptions { contention: Contention::Worst, ..SimOptions::of(&system.file) };
    trace_of(system, &options, None, Some(until), |_| ())
}

fn trace_of(
    system: &input::System,
    options: &SimOptions,
    like: Option<&Trace>,
    until: Option<Duration>,
    change: impl FnOnce(&mut sim::System),
) -> Result<Trace, Failure> {
    let mut model = Model::new(&system.plan, system.description.as_deref(), &options.assumptions());
    let name = system.file.display().to_string();
    let traced = like.map(|trace| like::apply(trace, &name, &mut model)).transpose()?;
    change(&mut model.system);
    let failed = |error: &dyn std::fmt::Display| Failure::new("simulation", error);
    let mut simulation =
        Simulation::new(&model.system, options.seed).map_err(|error| failed(&error))?;
    let recorder = recording::start(Vec::new(), &system.plan, &model);
    let mut recorder = recorder.map_err(|error| failed(&error))?;
    let limits = Limits { until: until.or(traced).unwrap_or(UNTIL).0, events: u64::MAX };
    simulation.run(limits, &mut recorder).map_err(|error| failed(&error))?;
    let bytes = recorder.finish().map_err(|error| failed(&error))?;
    Trace::read(bytes.as_slice()).map_err(|error| failed(&error))
}

/// Runs the command.
pub fn sim(options: &SimOptions, as_json: bool) -> Result<Status, Failure> {
    let (plan, described) = match input::read(&options.file)? {
        Input::Plan(plan) => (*plan, None),
        Input::Description(system) => (plan::make(&system)?, Some(system)),
    };
    let mut model = Model::new(&plan, described.as_deref(), &options.assumptions());
    let traced = options.like.as_ref().map(|trace| like::read(trace, &mut model)).transpose()?;
    let default = Until::Time(traced.unwrap_or(UNTIL));
    let until = match options.until.unwrap_or(default) {
        Until::Time(time) => time,
        Until::Hyperperiod => model.hyperperiod().ok_or_else(|| {
            Failure::new(
                "no-hyperperiod",
                "nothing repeats here, or only after centuries\nhelp: give a time, as `--until 10s`",
            )
        })?,
    };
    let limits = Limits { until: until.0, events: options.events.unwrap_or(u64::MAX) };
    let mut simulation = Simulation::new(&model.system, options.seed)
        .map_err(|error| Failure::new("simulation", error))?;
    let signals = Signals::catch()?;
    let ended = match &options.trace {
        None => run(&mut simulation, limits, &mut Silent, &signals),
        Some(path) => {
            let failed = |error| cannot_write(path, error);
            let file = WholeFile::create(path).map(BufWriter::new).map_err(failed)?;
            let mut recorder = recording::start(file, &plan, &model).map_err(failed)?;
            let ended = run(&mut simulation, limits, &mut recorder, &signals);
            let file = recorder.finish().map_err(failed)?;
            let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
            file.finish().map_err(failed)?;
            ended
        }
    };
    let results = Results::new(&plan.name, options, &model, &simulation, &ended);
    match as_json {
        true => json::print(&results)?,
        false => output::print(&results.text())?,
    }
    Ok(match ended {
        _ if !results.ok() => Status::No,
        Ended::Signal(signal) => Status::Signal(signal),
        _ => Status::Yes,
    })
}

fn cannot_write(path: &Path, error: std::io::Error) -> Failure {
    Failure::new("cannot-write", format!("cannot write {}: {error}", path.display()))
}
