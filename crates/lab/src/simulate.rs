//! Simulates a system with the code that decides at run time, and writes a trace.

pub mod like;
pub mod recording;

use model::{Assumptions, Contention, Model};
use sim::{Ended, Limits, Simulation};
use trace::Trace;
use units::Duration;

use crate::failure::Failure;
use crate::load::System;
use crate::watch::Watch;

/// Default end of a simulation.
pub const UNTIL: Duration = Duration(10_000_000_000);
/// Events between two looks at whether somebody still waits.
const EVENTS: u64 = 100_000;
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
    loop {
        let limits = Limits { until, events: simulation.events() + EVENTS };
        let ended = simulation.run(limits, &mut recorder).map_err(|error| failed(&error))?;
        if ended == Ended::Time || stops() {
            break;
        }
    }
    let bytes = recorder.finish().map_err(|error| failed(&error))?;
    Trace::read(bytes.as_slice()).map_err(|error| failed(&error))
}
