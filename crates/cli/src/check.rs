//! `bulkhead check`: says whether a system can be planned and meets its deadlines, and shows its content.

pub mod bounds;
mod certificate;
pub mod chains;
mod sensitivity;

use lab::check::{Checked, Document, Options};
use lab::made::Made;
use lab::verdicts::of_check;
use report::verdicts::Verdicts;

use crate::arguments::CheckOptions;
use crate::failure::Failure;
use crate::format::Format;
use crate::json;
use crate::overview;
use crate::status::Status;

/// Runs the command.
pub fn check(options: &CheckOptions, format: Format) -> Result<Status, Failure> {
    let CheckOptions { file, sensitivity, certificate } = options;
    let wanted = Options { sensitivity: *sensitivity, certificate: certificate.clone() };
    let checked = lab::check::check(file, &wanted)?;
    let document = || json::print(&Made::now("check").with(&Document::new(&checked)));
    format.print(|| verdicts(&checked), document, || text(&checked))?;
    Ok(if checked.is_ok() { Status::Yes } else { Status::No })
}

fn text(checked: &Checked) -> String {
    let answer = match checked.is_ok() {
        true if checked.described.is_none() => "sound",
        true => "ok",
        false => "not schedulable",
    };
    let mut text = format!("{}: {answer}\n", checked.file);
    text.extend(checked.plan.iter().map(|plan| format!("\n{}", overview::plan(plan))));
    text.extend(checked.report.as_ref().map(overview::report));
    text.push_str(&bounds::show(&checked.verdict));
    text.extend(checked.sensitivity.as_ref().map(sensitivity::show));
    text.extend(checked.certificate.as_ref().map(certificate::show));
    text.extend(checked.advice.iter().map(|advice| format!("\nhelp: {advice}\n")));
    let notes = checked.notes();
    text.extend(notes.iter().map(|note| format!("\nnote: {note}")));
    text.extend((!notes.is_empty()).then_some('\n'));
    text
}

/// Results of options are notes.
fn verdicts(checked: &Checked) -> Verdicts {
    let mut notes = checked.advice.clone();
    notes.extend(checked.sensitivity.as_ref().map(sensitivity::together));
    let theorems = checked.certificate.as_ref().map(certificate::show).unwrap_or_default();
    let theorems = theorems.lines().map(str::trim).filter(|line| !line.is_empty());
    notes.extend(theorems.map(str::to_owned));
    notes.extend(checked.notes());
    of_check(checked, notes)
}
