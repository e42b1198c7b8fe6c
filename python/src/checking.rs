//! Bounds of response times.

use pyo3::prelude::*;
use system::plan;
use system::report::Report;
use verdict::Verdict;

use crate::failure::{Failure, json};
use crate::input::{self, Input};
use crate::interrupt::{After, detached};

/// The verdict on a description or plan, as JSON.
#[pyfunction]
pub fn check(py: Python<'_>, file: String) -> PyResult<String> {
    detached(py, After::Leave, move |_| checked(&file), |_| Ok(()))
}

fn checked(file: &str) -> Result<String, Failure> {
    let input = input::read(file)?;
    let verdict = verdict(&input)?;
    let overloaded = input
        .description
        .as_ref()
        .is_some_and(|system| Report::new(system, input.plan.as_ref()).overloaded);
    let ok = verdict.schedulable && !overloaded;
    Ok(json(&serde_json::json!({ "ok": ok, "analysis": verdict })))
}

/// The bounds for all that runs.
pub fn verdict(input: &Input) -> Result<Verdict, Failure> {
    Ok(match (&input.plan, &input.description) {
        (Some(plan), described) => Verdict::of_plan(plan, described.as_ref()),
        (None, Some(system)) => Verdict::of_description(system, &plan::assign(system)?),
        (None, None) => return Err(Failure::new("there is neither a plan nor a description")),
    })
}
