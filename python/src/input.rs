//! Descriptions and plans out of files.

use std::path::Path;

use lab::load;
use system::description;
use system::plan::{self, Plan};

use crate::failure::Failure;

/// What is said where a plan is needed and there can be none.
pub const NOT_BOOTED: &str = "the platform of this description can be analysed, but not booted";

/// What a file holds.
pub struct Input {
    /// The plan; none: the machine is one that is only analysed.
    pub plan: Option<Plan>,
    /// The description that it was made from, if it was.
    pub description: Option<description::System>,
}

/// Reads a description and plans it, or reads a plan.
pub fn read(file: &str) -> Result<Input, Failure> {
    Ok(match load::read(Path::new(file))? {
        load::Input::Plan(plan) => Input { plan: Some(*plan), description: None },
        load::Input::Description(system) => {
            let bootable = system.platform.value.boot.is_ok();
            let plan = bootable.then(|| plan::make(&system)).transpose()?;
            Input { plan, description: Some(*system) }
        }
    })
}

impl Input {
    /// The plan, for what needs one.
    pub fn plan(&self) -> Result<&Plan, Failure> {
        self.plan.as_ref().ok_or_else(|| Failure::new(NOT_BOOTED))
    }
}
