//! `bulkhead plan`: makes a plan out of a description.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::arguments::PlanOptions;
use crate::failure::Failure;
use crate::input;
use crate::json;
use crate::output;
use crate::overview;
use crate::status::Status;

/// Runs the command.
pub fn plan(options: &PlanOptions, as_json: bool) -> Result<Status, Failure> {
    let mut system = input::plan(&options.file)?;
    let target = match options.output.as_deref() {
        Some(path) if path == Path::new("-") => None,
        Some(path) => Some(path.to_owned()),
        None => Some(beside(&options.file)?),
    };
    if let Some(target) = &target {
        system.plan.move_files(&system.folder, input::folder(target))?;
    }
    let dts = system.plan.to_dts();
    let replaced = target.as_ref().is_some_and(|target| target.exists());
    if let Some(target) = &target {
        bulkhead_image::write(target, dts.as_bytes())?;
    }
    match target {
        _ if as_json => json::print(&Document {
            ok: true,
            name: &system.plan.name,
            plan_file: target.map(|target| target.display().to_string()),
            replaced,
            plan_dts: &dts,
        })?,
        None => output::print(&dts)?,
        Some(target) => {
            let verb = if replaced { "replaced" } else { "wrote" };
            output::print(&format!(
                "{verb} {}\n\n{}",
                target.display(),
                overview::plan(&system.plan)
            ))?;
        }
    }
    Ok(Status::Yes)
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    name: &'a str,
    plan_file: Option<String>,
    replaced: bool,
    plan_dts: &'a str,
}

/// The plan's place if none is given: `demo.plan.dts` beside `demo.toml`.
fn beside(description: &Path) -> Result<PathBuf, Failure> {
    if input::ending(description) != Some("toml") {
        return Err(Failure::new(
            "is-a-plan",
            format!(
                "{} is a plan already\nhelp: name an output with `-o FILE` to write it anew",
                description.display()
            ),
        ));
    }
    Ok(description.with_extension("plan.dts"))
}
