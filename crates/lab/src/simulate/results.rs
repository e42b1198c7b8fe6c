//! Results of a simulation.

mod memory;
mod task;
mod vcpu;

use std::path::Path;

use model::{Assume, Assumptions, Contention, Execution, Model};
use serde::Serialize;
use sim::Simulation;
use system::diagnostic::Entry;
use units::Duration;

use super::run::Ended;
use crate::chains::Seen;

pub use memory::Memory;
pub use task::{Task, tasks};
pub use vcpu::{Vcpu, vcpus};

/// The simulation that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The description or plan, as the user names it.
    pub file: &'a Path,
    /// The name of the system.
    pub system: &'a str,
    /// The time that was to be simulated.
    pub until: Duration,
    /// The assumptions; `traced` if jobs execute as in a trace.
    pub assumptions: Assumptions,
    /// The seed of random times.
    pub seed: u64,
}

/// All that was found, as a document.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// True if no deadline was missed, and no chain took longer than it may.
    pub ok: bool,
    /// The description or plan, as the user names it.
    pub file: String,
    /// The name of the system.
    pub system: String,
    /// The time that was simulated.
    pub simulated_ns: u64,
    /// The time that was to be simulated.
    pub until_ns: u64,
    /// Releases, completions and timers.
    pub events: u64,
    /// `time`, `events`, `interrupted` or `overload`.
    pub ended: &'static str,
    /// The reason why the simulation could not go on.
    pub overload: Option<String>,
    /// The assumption about execution times of jobs.
    pub execution: Execution,
    /// The assumption about VCPUs without tasks.
    pub assume: Assume,
    /// The way in which accesses delay each other, if they are simulated.
    pub contention: Option<Contention>,
    /// The seed of random times.
    pub seed: u64,
    /// The sum over all tasks.
    pub missed_deadlines: u64,
    /// The VCPUs, PCPU by PCPU.
    pub vcpus: Vec<Vcpu>,
    /// The tasks, in the order of their VCPUs.
    pub tasks: Vec<Task>,
    /// The chains with their bounds, if the system has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<Seen>,
    /// None: documents of failures have theirs under the same name.
    pub errors: Vec<Entry>,
}

impl Results {
    /// The results of a simulation that ended.
    pub fn new(
        asked: &Asked<'_>,
        model: &Model,
        simulation: &Simulation,
        ended: &Ended,
        chains: Vec<Seen>,
    ) -> Self {
        let tasks = tasks(model, simulation);
        let missed_deadlines = tasks.iter().map(|task| task.missed_deadlines).sum();
        let overload = match ended {
            Ended::Overload(error) => Some(error.to_string()),
            _ => None,
        };
        let late = chains.iter().any(Seen::is_late);
        Self {
            ok: missed_deadlines == 0 && overload.is_none() && !late,
            file: asked.file.display().to_string(),
            system: asked.system.into(),
            simulated_ns: simulation.now_ns(),
            until_ns: asked.until.0,
            events: simulation.events(),
            ended: ended.as_str(),
            overload,
            execution: asked.assumptions.execution,
            assume: asked.assumptions.assume,
            contention: model.accesses.map(|accesses| accesses.contention),
            seed: asked.seed,
            missed_deadlines,
            vcpus: vcpus(model, simulation),
            tasks,
            chains,
            errors: Vec::new(),
        }
    }
}
