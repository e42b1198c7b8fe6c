//! Simulates a system with the code that decides at run time, and writes a trace.

pub mod chains;
pub mod like;
pub mod limits;
pub mod recording;
pub mod results;
mod run;

use model::{Assumptions, Contention, Model};
use sim::{Limits, Simulation};
use trace::Trace;
use units::Duration;

use crate::failure::Failure;
use crate::load::System;
use crate::watch::Watch;

pub use run::{Ended, run};

/// Default end of a simulation.
pub const UNTIL: Duration = Duration(10_000_000_000);
/// The seed of random times if nothing else is said.
pub const SEED: u64 = 1;

/// Simulates a system. `like`: an execution in which there was the same to do; the simulation ends with that execution if
/// `until` says nothing else. `change` may change what is simulated.
pub fn simulate(
    system: &System,
    like: Option<&Trace>,
    until: Option<Duration>,
    change: impl FnOnce(&mut sim::System),
) -> Result<Trace, Failure> {
    trace_of(system, Assumptions::default(), like, until, change, || false)
}

/// Simulates a system for the time `until`, where accesses to memory meet in the worst way. Returns
/// `None` if `watch` stopped the simulation.
pub fn simulate_worst(
    system: &System,
    until: Duration,
    watch: &dyn Watch,
) -> Result<Option<Trace>, Failure> {
    let assumptions = Assumptions { contention: Contention::Worst, ..Assumptions::default() };
    let trace = trace_of(system, assumptions, None, Some(until), |_| (), || watch.stops())?;
    Ok((!watch.stops()).then_some(trace))
}

/// The trace of a simulation, or of its first part if `stops` returns true.
fn trace_of(
    system: &System,
    assumptions: Assumptions,
    like: Option<&Trace>,
    until: Option<Duration>,
    change: impl FnOnce(&mut sim::System),
    stops: impl Fn() -> bool,
) -> Result<Trace, Failure> {
    let mut model = Model::new(&system.plan, system.description.as_deref(), &assumptions);
    let name = system.file.display().to_string();
    let traced = like.map(|trace| like::apply(trace, &name, &mut model)).transpose()?;
    change(&mut model.system);
    let failed = |error: &dyn std::fmt::Display| Failure::new("simulation", error);
    let mut simulation = Simulation::new(&model.system, SEED).map_err(|error| failed(&error))?;
    let described = system.description.as_deref();
    let recorder = recording::start(Vec::new(), &system.plan, described, &model);
    let mut recorder = recorder.map_err(|error| failed(&error))?;
    let until = until.or(traced).unwrap_or(UNTIL).0;
    let limits = Limits { until, events: u64::MAX };
    if let Ended::Overload(error) = run(&mut simulation, limits, &mut recorder, |_| stops()) {
        return Err(failed(&error));
    }
    let bytes = recorder.finish().map_err(|error| failed(&error))?;
    Trace::read(bytes.as_slice()).map_err(|error| failed(&error))
}
