//! Where experiments are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::experiment::Experiment;
use crate::failure::Failure;

/// The folder of experiments in the project.
const EXPERIMENTS: &str = "experiments";

/// The folder `experiments` in the current folder, in one above it, or in one
/// above this program.
pub fn find() -> Result<PathBuf, Failure> {
    let starts = [env::current_dir(), env::current_exe()];
    let mut folders = starts.iter().flatten().flat_map(|start| start.ancestors());
    folders.find_map(|folder| Some(folder.join(EXPERIMENTS)).filter(|it| it.is_dir())).ok_or_else(
        || {
            Failure::new(
                "no-experiments",
                format!("there is no folder {EXPERIMENTS} in this folder or one above it"),
            )
        },
    )
}

/// Names and titles of the experiments in a folder, sorted by name.
pub fn list(folder: &Path) -> Result<Vec<(String, String)>, Failure> {
    let cannot =
        |error| Failure::new("cannot-read", format!("cannot read {}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if let Some(title) = Experiment::title(&entry.path()) {
            found.push((entry.file_name().to_string_lossy().into_owned(), title));
        }
    }
    found.sort();
    Ok(found)
}

/// Reads an experiment by its name, or by the path of its folder.
pub fn experiment(name: &str) -> Result<Experiment, Failure> {
    if name.contains('/') {
        return Experiment::read(Path::new(name));
    }
    let folder = find()?;
    let here = folder.join(name);
    if here.is_dir() {
        return Experiment::read(&here);
    }
    let names: Vec<String> = list(&folder)?.into_iter().map(|(name, _)| name).collect();
    Err(Failure::new(
        "unknown-experiment",
        format!(
            "there is no experiment `{name}`\nhelp: there are {}; or name a folder, with a `/` in its path",
            names.join(", ")
        ),
    ))
}
