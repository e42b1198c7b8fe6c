//! Systems whose VMs talk.

use std::path::Path;

use system::description::System;
use system::diagnostic::Errors;
use system::plan::{self, Plan};

/// Reads a description, and makes its plan.
pub fn made(text: &str) -> Result<Plan, Errors> {
    let system = System::from_toml("talk.toml", text, Path::new(""));
    system.and_then(|system| plan::make(&system))
}
