//! Random task sets.

use pyo3::prelude::*;
use serde_json::json as value;
use taskgen::vcache::TABLE_3;
use taskgen::vmpcp::TABLE_1;
use taskgen::{Error, Random};

use crate::failure::{Failure, json};

fn raise(py: Python<'_>, error: Error) -> PyErr {
    Failure::new(error).raise(py)
}

/// So many utilisations with a sum: UUniFast.
#[pyfunction]
pub fn uunifast(
    py: Python<'_>,
    seed: u64,
    stream: u64,
    count: usize,
    total: f64,
) -> PyResult<Vec<f64>> {
    let drawn = taskgen::uunifast::sample(&mut Random::new(seed, stream), count, total);
    drawn.map_err(|error| raise(py, error))
}

/// The same, none above a limit: UUniFast-Discard.
#[pyfunction]
pub fn uunifast_discard(
    py: Python<'_>,
    seed: u64,
    stream: u64,
    count: usize,
    total: f64,
    limit: f64,
    trials: u32,
) -> PyResult<Vec<f64>> {
    let mut random = Random::new(seed, stream);
    let drawn = taskgen::uunifast_discard::sample(&mut random, count, total, limit, trials);
    drawn.map_err(|error| raise(py, error))
}

/// So many log-uniform periods in nanoseconds, multiples of a step.
#[pyfunction]
pub fn log_uniform(
    py: Python<'_>,
    seed: u64,
    stream: u64,
    count: usize,
    min_ns: u64,
    max_ns: u64,
    step_ns: u64,
) -> PyResult<Vec<u64>> {
    let mut random = Random::new(seed, stream);
    let [min, max, step] = [min_ns, max_ns, step_ns].map(policy::time::Duration);
    let mut one = || taskgen::log_uniform::sample(&mut random, min, max, step);
    let drawn = (0..count).map(|_| one().map(|period| period.0)).collect::<Result<_, _>>();
    drawn.map_err(|error| raise(py, error))
}

/// The tasks of a system of vCache, as JSON.
#[pyfunction]
pub fn vcache(
    py: Python<'_>,
    seed: u64,
    stream: u64,
    vms: usize,
    tasks: [u64; 2],
    utilization: f64,
    colors: usize,
) -> PyResult<String> {
    if colors == 0 || colors > policy::color::COLORS_MAX {
        let most = policy::color::COLORS_MAX;
        return Err(Failure::new(format!("colors is {colors}: 1 to {most}")).raise(py));
    }
    let parameters = taskgen::vcache::Parameters { vms, tasks, utilization, colors, ..TABLE_3 };
    let drawn = parameters.sample(&mut Random::new(seed, stream));
    let vms = drawn.map_err(|error| raise(py, error))?;
    let mut rows = Vec::new();
    for (number, vm) in vms.iter().enumerate() {
        for task in &vm.tasks {
            rows.push(value!({
                "vm": number,
                "vcpu_period_ns": vm.vcpu_period.0,
                "period_ns": task.period.0,
                "wcet_ns": task.wcet.iter().map(|time| time.0).collect::<Vec<_>>(),
                "working_set_bytes": task.working_set,
            }));
        }
    }
    Ok(json(&rows))
}

/// The tasks of a system of vMPCP, as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn vmpcp(
    py: Python<'_>,
    seed: u64,
    stream: u64,
    pcpus: usize,
    vcpus_per_pcpu: usize,
    tasks_per_vcpu: usize,
    utilization: f64,
    sections_per_task: usize,
    lockers: usize,
    section_ns: u64,
) -> PyResult<String> {
    let section = policy::time::Duration(section_ns);
    let parameters = taskgen::vmpcp::Parameters {
        pcpus,
        vcpus_per_pcpu,
        tasks_per_vcpu,
        utilization,
        sections_per_task,
        lockers,
        section,
        ..TABLE_1
    };
    let drawn = parameters.sample(&mut Random::new(seed, stream));
    let pcpus = drawn.map_err(|error| raise(py, error))?;
    let mut rows = Vec::new();
    for (pcpu, vcpus) in pcpus.iter().enumerate() {
        for (number, vcpu) in vcpus.iter().enumerate() {
            for task in &vcpu.tasks {
                rows.push(value!({
                    "pcpu": pcpu,
                    "vcpu": number,
                    "priority": vcpu.priority,
                    "period_ns": task.period.0,
                    "wcet_ns": task.wcet.0,
                    "mutexes": task.mutexes,
                }));
            }
        }
    }
    Ok(json(&rows))
}
