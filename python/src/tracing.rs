//! Traces.

use std::path::PathBuf;

use ::trace::{Origin, Trace, records, timeline};
use lab::record::read_trace;
use lab::responses::{Task, tasks};
use pyo3::prelude::*;
use serde::Serialize;

use crate::failure::{Failure, json};
use crate::interrupt::{After, detached};

/// Records in columns: time, ticks, PCPU, event, VM, VCPU, task, job, step, value.
type Records = (
    Vec<i64>,
    Vec<u64>,
    Vec<usize>,
    Vec<&'static str>,
    Vec<Option<String>>,
    Vec<Option<u32>>,
    Vec<Option<String>>,
    Vec<Option<u32>>,
    Vec<Option<String>>,
    Vec<Option<u64>>,
);

/// Jobs in columns: VM, VCPU, task, number, release, start, completion, response time.
type Jobs = (
    Vec<String>,
    Vec<u32>,
    Vec<String>,
    Vec<u32>,
    Vec<Option<i64>>,
    Vec<Option<i64>>,
    Vec<Option<i64>>,
    Vec<Option<u64>>,
);

#[derive(Serialize)]
struct Document<'a> {
    system: &'a str,
    origin: Origin,
    cut_off: bool,
    lost: u64,
    tasks: Vec<Task>,
}

/// Reads a trace: what it is about and its tasks as JSON, its records, its jobs.
#[pyfunction]
pub fn trace(py: Python<'_>, file: PathBuf) -> PyResult<(String, Records, Jobs)> {
    let work = move |_: &_| {
        let trace = read_trace(&file)?;
        let document = Document {
            system: &trace.header.name,
            origin: trace.header.origin,
            cut_off: trace.is_cut_off,
            lost: trace.lost(),
            tasks: tasks(&trace),
        };
        Ok::<_, Failure>((json(&document), records(&trace), jobs(&trace)))
    };
    detached(py, After::Leave, work, |_| Ok(()))
}

fn records(trace: &Trace) -> Records {
    let mut columns = Records::default();
    for row in records::rows(trace) {
        columns.0.push(row.time_ns);
        columns.1.push(row.ticks);
        columns.2.push(row.pcpu);
        columns.3.push(row.event);
        columns.4.push(row.vm);
        columns.5.push(row.vcpu.map(u32::from));
        columns.6.push(row.task);
        columns.7.push(row.job);
        columns.8.push(row.step.map(|step| step.to_string()));
        columns.9.push(row.value);
    }
    columns
}

fn jobs(trace: &Trace) -> Jobs {
    let (clock, header) = (trace.clock(), &trace.header);
    let time = |ticks: Option<u64>| ticks.map(|ticks| clock.ns(ticks));
    let mut columns = Jobs::default();
    for ((vcpu, task), jobs) in timeline::jobs(trace) {
        for job in jobs {
            columns.0.push(header.vm_name(vcpu.vm));
            columns.1.push(u32::from(vcpu.vcpu));
            columns.2.push(header.task_name(vcpu, task));
            columns.3.push(job.job);
            columns.4.push(time(job.release));
            columns.5.push(time(job.start));
            columns.6.push(time(job.finish));
            columns.7.push(job.response().map(|ticks| clock.length_ns(ticks)));
        }
    }
    columns
}
