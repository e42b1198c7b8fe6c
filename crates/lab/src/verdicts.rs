//! The verdicts of commands, as one table for all forms of documents: each verdict with its place in the description.

mod check;
mod difference;
mod mistakes;
pub(crate) mod places;
mod run;

use report::verdicts::{Row, Verdicts};
use system::description::System;

pub(crate) use check::both;
pub use check::of_check;
pub use difference::of_differences;
pub use mistakes::of_failure;
pub use run::of_run;

/// Returns the verdicts of a command on a file, with the places that the description has for them.
fn verdicts(
    (command, file, answer): (&'static str, &str, &str),
    described: Option<&System>,
    rows: Vec<Row>,
    notes: Vec<String>,
) -> Verdicts {
    let rows = match described {
        Some(system) => rows.into_iter().map(|row| places::placed(system, row)).collect(),
        None => rows,
    };
    Verdicts { command, file: file.into(), answer: answer.into(), rows, notes }
}

/// Returns the verdicts of `bulkhead prove`.
pub(crate) fn of_proof(
    file: &str,
    proof: &report::proof::Proof,
    system: &crate::load::System,
    rows: Vec<Row>,
) -> Verdicts {
    let answer = match (proof.holds, proof.measured) {
        (true, false) => "everything holds with the plan",
        (true, true) => "all deadlines were kept with the plan, as measured",
        (false, _) => "not everything holds with the plan",
    };
    verdicts(("prove", file, answer), system.description.as_deref(), rows, proof.notes.clone())
}
