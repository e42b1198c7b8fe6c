//! `bulkhead check`: whether a system can be planned and meets its deadlines, and what is in it.

pub mod bounds;
mod certificate;
pub mod chains;
pub mod deadlines;
mod sensitivity;

use std::path::Path;

use lab::load::{self, Input};
use lab::verdicts::{Checked, of_check};
use serde::Serialize;
use system::description::System;
use system::diagnostic::Entry;
use system::plan::{self, Plan, check_described_files, check_files};
use system::report::Report;
use verdict::{Sensitivity, Verdict};

use crate::arguments::CheckOptions;
use crate::failure::Failure;
use crate::format::Format;
use crate::json;
use crate::overview;
use crate::status::Status;

/// Runs the command.
pub fn check(options: &CheckOptions, format: Format) -> Result<Status, Failure> {
    let input = load::read_or_standard_input(&options.file)?;
    let (plan, described, report, verdict, missing, raised, advice, grows, theorems) = match input {
        Input::Plan(plan) => {
            let verdict = Verdict::of_plan(&plan, None);
            if options.sensitivity || options.certificate.is_some() {
                return Err(no_tasks(&options.file));
            }
            let missing = missing_files(&plan, None, &options.file)?;
            (Some(*plan), None, None, verdict, missing, Vec::new(), Vec::new(), None, None)
        }
        Input::Description(system) => {
            // Machines that are only analysed have no plan, and need none.
            let bootable = system.platform.value.boot.is_ok();
            let plan = if bootable { Some(plan::make(&system)?) } else { None };
            let missing =
                plan.as_ref().map(|plan| missing_files(plan, Some(&system), &options.file));
            let missing = missing.transpose()?.unwrap_or_default();
            let report = Report::new(&system, plan.as_ref());
            let verdict = match &plan {
                Some(plan) => Verdict::of_plan(plan, Some(&system)),
                None => Verdict::of_description(&system, &plan::assign(&system)?),
            };
            let advice = deadlines::advice(&system, &verdict);
            let grows = options.sensitivity.then(|| Sensitivity::new(&system, plan.as_ref()));
            let theorems = match &options.certificate {
                None => None,
                Some(folder) => {
                    let vcpus = match &plan {
                        Some(plan) => verdict.certificates(plan, &system),
                        None => verdict.certificates_without_plan(&system, &plan::assign(&system)?),
                    };
                    Some(lab::certificate::write(folder, &vcpus)?)
                }
            };
            let raised = [deadlines::raised(&system), chains::without_channel(&system)].concat();
            (plan, Some(system), Some(report), verdict, missing, raised, advice, grows, theorems)
        }
    };
    let overloaded = report.as_ref().is_some_and(|report| report.overloaded);
    let ok = verdict.schedulable && !overloaded;
    let file = options.file.display().to_string();
    let absent = missing.iter().map(|path| {
        format!("{path} does not exist yet; `make build` makes the files below build/")
    });
    let notes: Vec<_> = plan.iter().filter_map(overview::note_on_colors).chain(absent).collect();
    let notes = [lab::explain::notes(&verdict), raised, notes].concat();
    let checked = Checked {
        file: &file,
        name: plan
            .as_ref()
            .map(|plan| &*plan.name)
            .or(described.as_ref().map(|it| &*it.name))
            .unwrap_or_default(),
        described: described.as_deref(),
        report: report.as_ref(),
        verdict: &verdict,
    };
    let document = || Document {
        ok,
        file: &file,
        vms: plan.as_ref().map(overview::vms).unwrap_or_default(),
        hypervisor_colors: plan.as_ref().and_then(overview::hypervisor_colors),
        missing_files: &missing,
        report: report.as_ref(),
        analysis: &verdict,
        advice: &advice,
        sensitivity: grows.as_ref(),
        certificate: theorems.as_ref(),
        errors: Vec::new(),
    };
    let text = || {
        let mut text = format!("{file}: {}\n", if ok { "ok" } else { "not schedulable" });
        if let Some(plan) = &plan {
            text.push_str(&format!("\n{}", overview::plan(plan)));
        }
        if let Some(report) = &report {
            text.push_str(&overview::report(report));
        }
        text.push_str(&bounds::show(&verdict));
        text.extend(grows.as_ref().map(sensitivity::show));
        text.extend(theorems.as_ref().map(certificate::show));
        text.extend(advice.iter().map(|advice| format!("\nhelp: {advice}\n")));
        text.extend(notes.iter().map(|note| format!("\nnote: {note}")));
        text.extend((!notes.is_empty()).then_some('\n'));
        text
    };
    let verdicts = || {
        let grows = grows.as_ref().map(sensitivity::together);
        let theorems = theorems.as_ref().map(certificate::show).unwrap_or_default();
        let theorems = theorems.lines().map(str::trim).filter(|line| !line.is_empty());
        let found = grows.into_iter().chain(theorems.map(str::to_owned)).collect();
        of_check(checked, [advice.clone(), found, notes.clone()].concat())
    };
    format.print(verdicts, || json::print(&document()), text)?;
    Ok(if ok { Status::Yes } else { Status::No })
}

/// A plan says nothing of execution times.
fn no_tasks(file: &Path) -> Failure {
    Failure::new(
        "no-tasks",
        format!("{} is a plan, which has no tasks\nhelp: name the description", file.display()),
    )
}

/// The files of `plan` that do not exist yet; it was made of `system` if there is one, and read from `file` if not.
fn missing_files(
    plan: &Plan,
    system: Option<&System>,
    file: &Path,
) -> Result<Vec<String>, Failure> {
    let report = match system {
        Some(system) => check_described_files(system, plan)?,
        None => check_files(plan, load::folder(file))?,
    };
    Ok(report.missing.iter().map(|path| path.display().to_string()).collect())
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    file: &'a str,
    vms: Vec<overview::VmDocument<'a>>,
    hypervisor_colors: Option<Vec<usize>>,
    missing_files: &'a [String],
    report: Option<&'a Report>,
    analysis: &'a Verdict,
    advice: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitivity: Option<&'a Sensitivity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<&'a lab::certificate::Written>,
    errors: Vec<Entry>,
}
