//! Descriptions and plans out of files.

use std::fs;
use std::path::Path;

use bulkhead_system::description;
use bulkhead_system::plan::{self, Plan};
use planner::completion;

use crate::failure::Failure;

/// What a file holds.
pub struct Input {
    /// The plan; none: the machine is one that is only analysed.
    pub plan: Option<Plan>,
    /// The description that it was made from, if it was.
    pub description: Option<description::System>,
}

/// Reads a description and plans it, or reads a plan.
pub fn read(file: &str) -> Result<Input, Failure> {
    let path = Path::new(file);
    let bytes =
        fs::read(path).map_err(|error| Failure::new(format!("cannot read {file}: {error}")))?;
    if file.ends_with(".dtb") {
        return Ok(Input { plan: Some(Plan::from_dtb(&bytes)?), description: None });
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| Failure::new(format!("{file} is not UTF-8: {error}")))?;
    if file.ends_with(".dts") {
        return Ok(Input { plan: Some(Plan::from_dts(file, &text)?), description: None });
    }
    if !file.ends_with(".toml") {
        let text = format!("{file} is neither a description (.toml) nor a plan (.dts, .dtb)");
        return Err(Failure::Text(text));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut system = description::System::from_toml(file, &text, folder.unwrap_or(Path::new(".")))?;
    completion::complete(&mut system)?;
    let bootable = system.platform.value.boot.is_ok();
    let plan = bootable.then(|| plan::make(&system)).transpose()?;
    Ok(Input { plan, description: Some(system) })
}

impl Input {
    /// The plan, for what needs one.
    pub fn plan(&self) -> Result<&Plan, Failure> {
        self.plan.as_ref().ok_or_else(|| {
            Failure::new("the platform of this description can be analysed, but not booted")
        })
    }
}
