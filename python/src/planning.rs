//! Plans.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lab::load::{self, System};
use planner::completion::{Objective, Options, Outcome};
use planner::report::Report;
use pyo3::prelude::*;
use system::description;
use verdict::Verdict;

use crate::failure::{Failure, json};
use crate::interrupt::{After, detached};
use crate::running::timeout;

/// What is said of a machine that no plan can boot.
const NOT_BOOTED: &str = "the platform of this description can be analysed, but not booted";

/// How to search.
struct Search {
    objective: Option<String>,
    seed: u64,
    time: Option<Duration>,
}

/// The plan of a description, what was chosen and what the search did, as JSON.
#[pyfunction]
pub fn plan(
    py: Python<'_>,
    file: String,
    objective: Option<String>,
    seed: u64,
    time_s: Option<f64>,
) -> PyResult<String> {
    let time = time_s.map(timeout).transpose().map_err(|failure| failure.raise(py))?;
    let search = Search { objective, seed, time };
    detached(py, After::Leave, move |stop| planned(Path::new(&file), &search, stop), |_| Ok(()))
}

fn planned(file: &Path, search: &Search, stop: &AtomicBool) -> Result<String, Failure> {
    if search.objective.is_some() || search.time.is_some() {
        // In a plan nothing is open.
        load::description(file)?;
    }
    // What is left behind after Ctrl-C ends soon.
    let stops = |_: u64| stop.load(Ordering::SeqCst);
    let wanted = |system: &description::System| search.options(system, &stops);
    let (system, outcome) = load::plan_with(file, wanted)?;
    Ok(document(&system, &outcome))
}

fn document(system: &System, outcome: &Outcome) -> String {
    let (plan, described) = (&system.plan, system.description.as_deref());
    let verdict = Verdict::of_plan(plan, described);
    let report = Report::new(&verdict, described);
    json(&serde_json::json!({
        "ok": verdict.schedulable,
        "name": plan.name,
        "dts": plan.to_dts(),
        "report": report,
        "analysis": verdict,
        "search": outcome,
    }))
}

impl Search {
    fn options<'a>(
        &self,
        system: &description::System,
        stops: &'a dyn Fn(u64) -> bool,
    ) -> Result<Options<'a>, lab::Failure> {
        if system.platform.value.boot.is_err() {
            return Err(lab::Failure::new("analysis-only", NOT_BOOTED));
        }
        let objective = match &self.objective {
            None => Objective::Described,
            Some(text) => {
                let named: description::Objective =
                    text.parse().map_err(|error: String| lab::Failure::new("objective", error))?;
                Objective::of(system, &named)
                    .map_err(|mistake| lab::Failure::Mistakes((*mistake).into()))?
            }
        };
        Ok(Options { objective, seed: self.seed, time: self.time, stops })
    }
}
