//! The cost of exits, from the tool that counts instructions.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use lab::Failure;
use serde::Deserialize;

/// The tool, in the folder of the project.
const TOOL: [&str; 5] = ["cargo", "xtask", "bench-exits", "--json", "--repeat=1"];

#[derive(Deserialize)]
struct Document {
    figures: Vec<Figure>,
}

#[derive(Deserialize)]
struct Figure {
    key: String,
    max: u64,
}

/// The longest of each row, by its key.
pub fn rows(project: &Path) -> Result<BTreeMap<String, u64>, Failure> {
    let fail = |why: String| {
        let tool = TOOL.join(" ");
        Failure::new(
            "bench-exits",
            format!("`{tool}`, started in {}, failed: {why}", project.display()),
        )
    };
    let output = Command::new(TOOL[0])
        .args(&TOOL[1..])
        .current_dir(project)
        .output()
        .map_err(|error| fail(error.to_string()))?;
    // A figure above its limit makes the tool fail; it is a result all the same.
    let document: Document = serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        fail(format!("{error}\n{}", said.trim_end()))
    })?;
    Ok(document.figures.into_iter().map(|figure| (figure.key, figure.max)).collect())
}
