//! Checks a system: can it be planned, and does it meet its deadlines?

mod document;

use std::path::{Path, PathBuf};

use system::description::System;
use system::plan::{self, Plan, check_described_files, check_files};
use system::report::Report;
use verdict::{Sensitivity, Verdict};

use crate::certificate::{self, Written};
use crate::failure::Failure;
use crate::load::{self, Input};
use crate::{advice, explain};

pub use document::Document;

/// Questions of a check beyond the bounds.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// True if the possible growth of execution times is computed.
    pub sensitivity: bool,
    /// The folder for theorems.
    pub certificate: Option<PathBuf>,
}

/// A system that was checked.
#[derive(Debug)]
pub struct Checked {
    /// The file, as the user names it.
    pub file: String,
    /// The plan, if the machine can have one.
    pub plan: Option<Plan>,
    /// The description, if the file is one.
    pub described: Option<Box<System>>,
    /// The summary of the description.
    pub report: Option<Report>,
    /// The bounds.
    pub verdict: Verdict,
    /// Files of the plan that do not exist yet.
    pub missing: Vec<String>,
    /// Advice for tasks and chains that can be late.
    pub advice: Vec<String>,
    /// The possible growth of execution times, if that was asked.
    pub sensitivity: Option<Sensitivity>,
    /// The theorems that were written.
    pub certificate: Option<Written>,
}

/// Checks a description or a plan; `-` is the standard input.
///
/// # Errors
///
/// A file that cannot be read, a description that cannot be planned, and options for a plan, which has no tasks.
pub fn check(file: &Path, options: &Options) -> Result<Checked, Failure> {
    match load::read_or_standard_input(file)? {
        Input::Plan(plan) => {
            let verdict = Verdict::of_plan(&plan, None);
            if options.sensitivity || options.certificate.is_some() {
                return Err(no_tasks(file));
            }
            let missing = missing_files(&plan, None, file)?;
            Ok(Checked {
                file: file.display().to_string(),
                plan: Some(*plan),
                described: None,
                report: None,
                verdict,
                missing,
                advice: Vec::new(),
                sensitivity: None,
                certificate: None,
            })
        }
        Input::Description(system) => described(file, system, options),
    }
}

fn described(file: &Path, system: Box<System>, options: &Options) -> Result<Checked, Failure> {
    // Machines that are only analysed have no plan, and need none.
    let bootable = system.platform.value.boot.is_ok();
    let plan = if bootable { Some(plan::make(&system)?) } else { None };
    let missing = plan.as_ref().map(|plan| missing_files(plan, Some(&system), file)).transpose()?;
    let verdict = match &plan {
        Some(plan) => Verdict::of_plan(plan, Some(&system)),
        None => Verdict::of_description(&system, &plan::assign(&system)?),
    };
    let advice = advice::advice(&system, &verdict);
    let sensitivity = options.sensitivity.then(|| Sensitivity::new(&system, plan.as_ref()));
    let certificate = match &options.certificate {
        None => None,
        Some(folder) => {
            let vcpus = match &plan {
                Some(plan) => verdict.certificates(plan, &system),
                None => verdict.certificates_without_plan(&system, &plan::assign(&system)?),
            };
            Some(certificate::write(folder, &vcpus)?)
        }
    };
    Ok(Checked {
        file: file.display().to_string(),
        report: Some(Report::new(&system, plan.as_ref())),
        plan,
        described: Some(system),
        verdict,
        missing: missing.unwrap_or_default(),
        advice,
        sensitivity,
        certificate,
    })
}

impl Checked {
    /// Returns true if every deadline is met; of a plan, which has no tasks, if it is sound.
    pub fn is_ok(&self) -> bool {
        let overloaded = self.report.as_ref().is_some_and(|report| report.overloaded);
        self.verdict.schedulable && !overloaded
    }

    /// Returns the name of the system.
    pub fn name(&self) -> &str {
        let described = self.described.as_ref().map(|it| it.name.as_str());
        self.plan.as_ref().map(|it| it.name.as_str()).or(described).unwrap_or_default()
    }

    /// Returns notes that help to read the rest, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let absent = self.missing.iter().map(|path| {
            let advice = image::checkout::advice(Path::new(path));
            format!("{path} does not exist yet; {advice}")
        });
        let mut notes = explain::notes(&self.verdict);
        match &self.described {
            Some(system) => {
                notes.extend(advice::raised(system));
                notes.extend(advice::without_channel(system));
            }
            None => notes.push(
                "a plan has no tasks, and no deadline was checked: `bulkhead check` of its description does that"
                    .into(),
            ),
        }
        notes.extend(self.plan.iter().filter_map(advice::note_on_colors));
        notes.extend(absent);
        notes
    }
}

/// A plan says nothing of execution times.
fn no_tasks(file: &Path) -> Failure {
    Failure::new(
        "no-tasks",
        format!("{} is a plan, which has no tasks\nhelp: name the description", file.display()),
    )
}

/// Returns the files of `plan` that do not exist yet; it was made of `system` if there is one, and read from `file` if not.
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
