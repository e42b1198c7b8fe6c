//! `bulkhead check`: whether a system can be planned, and what is in it.

use std::path::Path;

use bulkhead_system::diagnostic::Entry;
use bulkhead_system::plan::{self, Plan, check_files};
use bulkhead_system::report::Report;
use serde::Serialize;

use crate::arguments::CheckOptions;
use crate::failure::Failure;
use crate::input::{self, Input};
use crate::json;
use crate::output;
use crate::overview;
use crate::status::Status;

/// Runs the command.
pub fn check(options: &CheckOptions, as_json: bool) -> Result<Status, Failure> {
    let (plan, report) = match input::read(&options.file)? {
        Input::Plan(plan) => (Some(*plan), None),
        Input::Description(system) => {
            // Machines that are only analysed have no plan, and need none.
            let bootable = system.platform.value.boot.is_ok();
            let plan = if bootable { Some(plan::make(&system)?) } else { None };
            let report = Report::new(&system, plan.as_ref());
            (plan, Some(report))
        }
    };
    let missing = match &plan {
        Some(plan) => missing_files(plan, input::folder(&options.file))?,
        None => Vec::new(),
    };
    let overloaded = report.as_ref().is_some_and(|report| report.overloaded);
    let file = options.file.display().to_string();
    if as_json {
        json::print(&Document {
            ok: !overloaded,
            file: &file,
            vms: plan.as_ref().map(overview::vms).unwrap_or_default(),
            hypervisor_colors: plan.as_ref().and_then(overview::hypervisor_colors),
            missing_files: &missing,
            report: report.as_ref(),
            errors: Vec::new(),
        })?;
    } else {
        let mut text = format!("{file}: {}\n", if overloaded { "not schedulable" } else { "ok" });
        if let Some(plan) = &plan {
            text.push_str(&format!("\n{}", overview::plan(plan)));
        }
        if let Some(report) = &report {
            text.push_str(&overview::report(report));
        }
        let missing = missing.iter().map(|path| {
            format!("{path} does not exist yet; `make build` makes the files below build/")
        });
        let notes: Vec<_> =
            plan.iter().filter_map(overview::note_on_colors).chain(missing).collect();
        for note in &notes {
            text.push_str(&format!("\nnote: {note}"));
        }
        if !notes.is_empty() {
            text.push('\n');
        }
        output::print(&text)?;
    }
    Ok(if overloaded { Status::No } else { Status::Yes })
}

fn missing_files(plan: &Plan, folder: &Path) -> Result<Vec<String>, Failure> {
    let report = check_files(plan, folder)?;
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
    errors: Vec<Entry>,
}
