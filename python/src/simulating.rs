//! Simulations.

use std::sync::atomic::{AtomicBool, Ordering};

use model::{Assume, Assumptions, Contention, Execution, Model};
use pyo3::prelude::*;
use serde_json::{Value, json as value};
use sim::{Ended, Event, Limits, Simulation};

use crate::failure::{Failure, json};
use crate::input;
use crate::interrupt::{After, detached};

/// Events between two looks at the flag.
const EVENTS: u64 = 100_000;

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
    let input = input::read(file)?;
    let plan = input.plan()?;
    let model = Model::new(plan, input.description.as_ref(), &assumptions);
    let until = match until_ns {
        Some(until) => until,
        None => model.hyperperiod().map(|time| time.0).ok_or_else(|| {
            Failure::new("nothing repeats here, or only after centuries: give a time")
        })?,
    };
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
    let mut overload = None;
    loop {
        let limits = Limits { until, events: simulation.events() + EVENTS };
        match simulation.run(limits, &mut observer) {
            Ok(Ended::Time) => break,
            Ok(Ended::Events) if stop.load(Ordering::SeqCst) => break,
            Ok(Ended::Events) => (),
            // What was seen until then is true.
            Err(error @ sim::Error::Overload { .. }) => {
                overload = Some(error.to_string());
                break;
            }
            Err(error) => return Err(Failure::new(error)),
        }
    }
    let document = value!({
        "system": plan.name,
        "simulated_ns": simulation.now_ns(),
        "events": simulation.events(),
        "overload": overload,
        "vcpus": vcpus(&model, &simulation),
        "tasks": tasks(&model, &simulation),
    });
    Ok((json(&document), wanted.then_some(jobs)))
}

fn vcpus(model: &Model, simulation: &Simulation) -> Vec<Value> {
    let row = |(pcpu, index, vcpu): (usize, usize, &model::Vcpu)| {
        let found = simulation.vcpu(pcpu, index);
        value!({
            "pcpu": pcpu,
            "place": index,
            "vm": vcpu.vm_name,
            "vcpu": vcpu.index,
            "load": vcpu.load.as_str(),
            "supply_ns": found.supply_ns,
            "dispatches": found.dispatches,
            "accesses": found.accesses,
            "throttled_ns": found.throttled_ns,
            "delayed_ns": found.delayed_ns,
        })
    };
    model.vcpus().map(row).collect()
}

fn tasks(model: &Model, simulation: &Simulation) -> Vec<Value> {
    let mut rows = Vec::new();
    for (pcpu, index, vcpu) in model.vcpus() {
        for (number, task) in vcpu.tasks.iter().enumerate() {
            let found = simulation.task(pcpu, index, number);
            let some = |time: u64| (found.jobs > 0).then_some(time);
            let mean = found.response_sum_ns.checked_div(u128::from(found.jobs));
            rows.push(value!({
                "pcpu": pcpu,
                "place": index,
                "vm": vcpu.vm_name,
                "vcpu": vcpu.index,
                "task": task.name,
                "period_ns": task.period.0,
                "deadline_ns": task.deadline.0,
                "releases": found.releases,
                "jobs": found.jobs,
                "response_min_ns": some(found.response_min_ns),
                "response_mean_ns": mean.map(|mean| mean as u64),
                "response_max_ns": some(found.response_max_ns),
                "missed_deadlines": found.misses + simulation.overdue(pcpu, index, number),
            }));
        }
    }
    rows
}
