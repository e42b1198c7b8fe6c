//! Plans.

use planner::report::Report;
use pyo3::prelude::*;

use crate::checking::verdict;
use crate::failure::{Failure, json};
use crate::input;
use crate::interrupt::{After, detached};

/// The plan of a description and what was chosen, as JSON.
#[pyfunction]
pub fn plan(py: Python<'_>, file: String) -> PyResult<String> {
    detached(py, After::Leave, move |_| planned(&file), |_| Ok(()))
}

fn planned(file: &str) -> Result<String, Failure> {
    let input = input::read(file)?;
    let plan = input.plan()?;
    let verdict = verdict(&input)?;
    let report = Report::new(&verdict, input.description.as_ref());
    Ok(json(&serde_json::json!({
        "ok": verdict.schedulable,
        "name": plan.name,
        "dts": plan.to_dts(),
        "report": report,
        "analysis": verdict,
    })))
}
