//! The output of `bulkhead plan`: a plan, or for a machine that is only analysed the description with
//! everything decided.

use std::path::{Path, PathBuf};

use lab::load::{self, System};
use system::decided::with_decisions;
use system::description::System as Description;
use system::plan;
use system::platform::AnalysisOnly;
use verdict::Verdict;

use crate::failure::Failure;

/// The text of the file.
pub enum Written {
    /// A plan, as device tree source.
    Plan(String),
    /// A description.
    Description(String),
}

impl Written {
    /// Returns the output for a planned system, for the file `target` or the standard
    /// output.
    ///
    /// # Errors
    ///
    /// The machine has no plan, and the file is to be one.
    pub fn new(system: &mut System, target: Option<&Path>) -> Result<Self, Failure> {
        let analyzed = system.description.as_deref().filter(|it| it.platform.value.boot.is_err());
        if let Some(described) = analyzed {
            return description(&system.file, described, target).map(Self::Description);
        }
        if let Some(target) = target {
            system.plan.move_files(&system.folder, load::folder(target))?;
        }
        Ok(Self::Plan(system.plan.to_dts()))
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        match self {
            Self::Plan(text) | Self::Description(text) => text,
        }
    }

    /// Returns the text if it is a plan.
    pub fn dts(&self) -> Option<&str> {
        match self {
            Self::Plan(text) => Some(text),
            Self::Description(_) => None,
        }
    }

    /// Returns the text if it is a description.
    pub fn toml(&self) -> Option<&str> {
        match self {
            Self::Plan(_) => None,
            Self::Description(text) => Some(text),
        }
    }
}

/// Returns the place of the result if none is given: `demo.plan.dts` beside `demo.toml`, and
/// `demo.planned.toml` for a machine that is only analysed.
pub fn beside(system: &System) -> Result<PathBuf, Failure> {
    let file = &system.file;
    if load::ending(file) != Some("toml") {
        return Err(Failure::new(
            "is-a-plan",
            format!(
                "{} is a plan already\nhelp: name an output with `-o FILE` to write it anew",
                file.display()
            ),
        ));
    }
    Ok(file.with_extension(ending(system)))
}

/// Returns the ending of the name of the written file.
pub fn ending(system: &System) -> &'static str {
    let boots = system.description.as_ref().is_none_or(|it| it.platform.value.boot.is_ok());
    if boots { "plan.dts" } else { "planned.toml" }
}

/// Refuses a target that is to be a plan, for a machine that is only analysed.
pub fn can_be_written(described: &Description, target: &Path) -> Result<(), lab::Failure> {
    let platform = &described.platform.value;
    let Err(AnalysisOnly(reason)) = &platform.boot else { return Ok(()) };
    if load::ending(target) == Some("toml") || image::is_special(target) {
        return Ok(());
    }
    let message = format!(
        "{} cannot be a plan: one for `{}` cannot be booted: {reason}\nhelp: what is planned is \
         written into a copy of the description: name a file that ends in .toml",
        target.display(),
        platform.name
    );
    Err(lab::Failure::new("analysis-only", message))
}

/// Returns the description with all decisions, which has the same verdict.
fn description(
    file: &Path,
    planned: &Description,
    target: Option<&Path>,
) -> Result<String, Failure> {
    let folder = target.map_or(load::folder(file), load::folder);
    let text = with_decisions(&load::text(file)?, planned, folder);
    let name = target.unwrap_or(file).display().to_string();
    let text = text.filter(|text| {
        let read = Description::from_toml(&name, text, folder);
        read.is_ok_and(|read| verdict(&read).is_some_and(|it| Some(it) == verdict(planned)))
    });
    text.ok_or_else(|| {
        let message = "some of what was planned cannot be written into the description\n\
                       help: `--json` and `bulkhead check` show it";
        Failure::new("not-written", message)
    })
}

fn verdict(described: &Description) -> Option<Verdict> {
    Some(Verdict::of_description(described, &plan::assign(described).ok()?))
}
