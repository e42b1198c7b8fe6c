//! Simulations.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::load::{self, Input};
use lab::simulate::results::{Task, tasks, vcpus};
use lab::simulate::{Ended, limits, run};
use model::{Assume, Assumptions, Contention, Execution, Model};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json as value;
use sim::{Event, Limits, Simulation};

use crate::failure::{Failure, json};
use crate::interrupt::{After, detached};

/// PCPU, VCPU, task, completion and response time of jobs.
type Jobs = (Vec<usize>, Vec<usize>, Vec<usize>, Vec<u64>, Vec<u64>);

/// Simulates a description or plan: statistics as JSON, and all complete jobs if they are wanted.
/// `until_ns`: none for the hyperperiod.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn simulate(
    py: Python<'_>,
    file: String,
    until_ns: Option<u64>,
    seed: u64,
    execution: &str,
    assume: &str,
    contention: &str,
    jobs: bool,
) -> PyResult<(String, Option<Jobs>)> {
    let unknown = |what: &str| Failure::new(format!("unknown word `{what}`")).raise(py);
    let assumptions = Assumptions {
        execution: match execution {
            "worst" => Execution::Worst,
            "uniform" => Execution::Uniform,
            _ => return Err(unknown(execution)),
        },
        assume: match assume {
            "busy" => Assume::Busy,
            "idle" => Assume::Idle,
            _ => return Err(unknown(assume)),
        },
        contention: match contention {
            "stream" => Contention::Stream,
            "worst" => Contention::Worst,
            "none" => Contention::None,
            _ => return Err(unknown(contention)),
        },
    };
    let work = move |stop: &AtomicBool| simulated(&file, until_ns, seed, assumptions, jobs, stop);
    detached(py, After::Wait, work, |_| Ok(()))
}

fn simulated(
    file: &str,
    until_ns: Option<u64>,
    seed: u64,
    assumptions: Assumptions,
    wanted: bool,
    stop: &AtomicBool,
) -> Result<(String, Option<Jobs>), Failure> {
    let (plan, described) = match load::read(Path::new(file))? {
        Input::Plan(plan) => (*plan, None),
        Input::Description(system) => (load::plan_or_outline(&system)?, Some(system)),
    };
    let model = Model::new(&plan, described.as_deref(), &assumptions);
    let until = match until_ns {
        Some(until) => until,
        None => model.hyperperiod().map(|time| time.0).ok_or_else(|| {
            Failure::new("nothing repeats here, or only after centuries: give a time")
        })?,
    };
    if let Some(described) = &described {
        limits::check(described, &model)?;
    }
    let mut simulation = Simulation::new(&model.system, seed).map_err(Failure::new)?;
    let mut jobs = Jobs::default();
    let mut observer = |at: u64, pcpu: usize, event: Event| {
        if let Event::Complete { vcpu, task, response_ns } = event
            && wanted
            && model.pcpus[pcpu][vcpu].tasks.len() > task
        {
            jobs.0.push(pcpu);
            jobs.1.push(vcpu);
            jobs.2.push(task);
            jobs.3.push(at);
            jobs.4.push(response_ns);
        }
    };
    let limits = Limits { until, events: u64::MAX };
    let stops = |_: &Simulation| stop.load(Ordering::SeqCst);
    let overload = match run(&mut simulation, limits, &mut observer, stops) {
        // What was seen until then is true.
        Ended::Overload(error) => Some(error.to_string()),
        Ended::Time | Ended::Events | Ended::Interrupted => None,
    };
    let places =
        model.vcpus().flat_map(|(pcpu, place, vcpu)| vcpu.tasks.iter().map(move |_| (pcpu, place)));
    let tasks = places.zip(tasks(&model, &simulation)).map(|((pcpu, place), of)| TaskRow {
        pcpu,
        place,
        of,
    });
    let document = value!({
        "system": plan.name,
        "simulated_ns": simulation.now_ns(),
        "events": simulation.events(),
        "overload": overload,
        "vcpus": vcpus(&model, &simulation),
        "tasks": tasks.collect::<Vec<_>>(),
    });
    Ok((json(&document), wanted.then_some(jobs)))
}

/// A task, and which place its VCPU has on which PCPU.
#[derive(Serialize)]
struct TaskRow {
    pcpu: usize,
    place: usize,
    #[serde(flatten)]
    of: Task,
}
