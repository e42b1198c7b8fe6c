//! Verdicts held against those of earlier results.

use std::path::Path;

use lab::Failure;

use crate::claim::Verdict;
use crate::experiment::Experiment;
use crate::results::Results;

/// A statement whose verdict is not that of the earlier results.
#[derive(Debug)]
pub struct Change {
    /// Its experiment and text.
    pub what: String,
    /// The expected verdict.
    pub was: Verdict,
    /// The verdict now.
    pub is: Verdict,
}

/// The earlier results of all experiments.
pub fn read<'a>(experiments: &'a [Experiment], folder: &Path) -> Result<Vec<Results<'a>>, Failure> {
    experiments.iter().map(|experiment| Results::again(experiment, folder)).collect()
}

/// Returns the changes since. A claim that was not measured now (`--quick`) has not changed.
pub fn changes(expected: &Results, now: &Results) -> Vec<Change> {
    let name = &now.experiment.name;
    let claims = now.experiment.published.claims.iter();
    let verdicts = claims.zip(expected.judged.iter().zip(&now.judged));
    let changed = verdicts.filter(|(_, (was, is))| {
        let measured = !(now.quick && is.verdict == Verdict::NotCheckable);
        measured && was.verdict != is.verdict
    });
    let change = changed.map(|(claim, (was, is))| Change {
        what: format!("{name}: {}", claim.text),
        was: was.verdict,
        is: is.verdict,
    });
    change.collect()
}

/// The changes for people; without one, a line that says so.
pub fn text(changes: &[Change], folder: &Path) -> String {
    let folder = folder.display();
    if changes.is_empty() {
        return format!("\nverdicts: those of {folder}\n");
    }
    let line = |it: &Change| format!("  {}: was {}, is {}\n", it.what, it.was.text(), it.is.text());
    let lines: String = changes.iter().map(line).collect();
    format!("\nverdicts that are not those of {folder}:\n{lines}")
}
