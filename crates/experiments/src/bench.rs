//! The costs of exits, from the tools that count instructions.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use lab::Failure;
use serde::Deserialize;

/// A tool in the folder of the project, which counts instructions.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Tool {
    /// `bench-exits`: instructions of the hypervisor.
    Exits,
    /// `bench-host-x86`: instructions of the x86 host.
    HostX86,
}

/// The numbers of each tool, by the keys of its rows.
pub type Rows = BTreeMap<Tool, BTreeMap<String, u64>>;

#[derive(Deserialize)]
struct Document {
    figures: Vec<Figure>,
}

#[derive(Deserialize)]
struct Figure {
    key: String,
    max: Option<u64>,
    /// The x86 host counts the work of its Linux too, which comes at any time: its longest values say little of a call.
    median: Option<u64>,
}

impl Tool {
    /// The name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exits => "bench-exits",
            Self::HostX86 => "bench-host-x86",
        }
    }

    /// Returns the medians of all rows by their keys, or the longest values where a tool has no medians.
    pub fn rows(self, project: &Path) -> Result<BTreeMap<String, u64>, Failure> {
        let once = match self {
            Self::Exits => Some("--repeat=1"),
            Self::HostX86 => None,
        };
        let words: Vec<&str> =
            ["cargo", "xtask", self.name(), "--json"].into_iter().chain(once).collect();
        let fail = |why: String| {
            let tool = words.join(" ");
            Failure::new(
                self.name(),
                format!("`{tool}`, started in {}, failed: {why}", project.display()),
            )
        };
        let output = Command::new(words[0])
            .args(&words[1..])
            .current_dir(project)
            .output()
            .map_err(|error| fail(error.to_string()))?;
        // A figure above its limit makes the tool fail; it is a result all the same.
        let document: Document = serde_json::from_slice(&output.stdout).map_err(|error| {
            let said = String::from_utf8_lossy(&output.stderr);
            fail(format!("{error}\n{}", said.trim_end()))
        })?;
        let row = |Figure { key, max, median }: Figure| Some((key, median.or(max)?));
        Ok(document.figures.into_iter().filter_map(row).collect())
    }
}
