//! Bounds for plain tasks.

use analysis::response::{Workload, response_times as bounds};
use analysis::supply::{ServerSupply, Supply};
use analysis::{Duration, Kind, Server, Task};
use pyo3::prelude::*;

use crate::failure::{Failure, json};
use crate::interrupt::{After, detached};

/// Execution time, period, deadline, jitter, blocking and suspension.
type Times = (u64, u64, u64, u64, u64, u64);

/// Bounds for tasks, the highest priority first, as JSON; `server`: kind, budget and period of the VCPU
/// that they are on.
#[pyfunction]
pub fn response_times(
    py: Python<'_>,
    tasks: Vec<Times>,
    server: Option<(String, u64, u64)>,
) -> PyResult<String> {
    detached(py, After::Leave, move |_| bounded(&tasks, server), |_| Ok(()))
}

fn bounded(tasks: &[Times], server: Option<(String, u64, u64)>) -> Result<String, Failure> {
    let task = |(place, &times): (usize, &Times)| {
        task(times).map_err(|error| Failure::new(format!("task {place}: {error}")))
    };
    let tasks = tasks.iter().enumerate().map(task).collect::<Result<Vec<_>, _>>()?;
    let mut workload = Workload::new(&tasks);
    if let Some((kind, budget, period)) = server {
        let kind = Kind::named(&kind)
            .ok_or_else(|| Failure::new(format!("there are no servers called `{kind}`")))?;
        let server = Server::new(kind, Duration(budget), Duration(period));
        let server = server.map_err(|error| Failure::new(format!("server: {error}")))?;
        workload = workload.with_supply(Supply::Server(ServerSupply::new(server)));
    }
    let rows = bounds(&workload).into_iter().map(|bound| match bound {
        Ok(bound) => serde_json::json!({ "wcrt_ns": bound.time.0, "failure": null }),
        Err(failure) => {
            serde_json::json!({ "wcrt_ns": null, "failure": failure.reason().as_str() })
        }
    });
    Ok(json(&rows.collect::<Vec<_>>()))
}

fn task(times: Times) -> Result<Task, analysis::TaskError> {
    let (wcet, period, deadline, jitter, blocking, suspension) = times;
    Task::new(Duration(wcet), Duration(period))?
        .with_deadline(Duration(deadline))?
        .with_jitter(Duration(jitter))?
        .with_blocking(Duration(blocking))?
        .with_suspension(Duration(suspension))
}
