//! Verdicts on a run.

use report::verdicts::{Rule, Verdicts};

use super::verdicts;
use crate::load::System;
use crate::run::{End, Summary};

/// Returns the verdicts on a run of a system. Nothing is known of a run that was interrupted.
pub fn of_run(summary: &Summary, system: &System) -> Verdicts {
    let mut rows = summary.rows();
    if summary.end() == End::Interrupted {
        for row in rows.iter_mut().filter(|row| row.rule == Rule::Run) {
            *row = row.clone().fails_if(["the run was interrupted"]);
        }
    }
    let notes = summary.heading().map(str::to_owned).into_iter().chain(summary.notes());
    let notes = notes.chain(summary.unseen()).collect();
    let answer = match (summary.is_ok(), summary.unseen()) {
        (true, None) => "all is well",
        (true, Some(_)) => "nothing went wrong, but not all was seen",
        (false, _) => "not well",
    };
    let file = system.file.display().to_string();
    verdicts(("run", &file, answer), system.description.as_deref(), rows, notes)
}
