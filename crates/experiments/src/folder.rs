//! The folder of experiments.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use lab::Failure;

use crate::experiment::Experiment;

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
                format!("there is no folder `{EXPERIMENTS}` in this folder or in one above it\nhelp: start the command in the project"),
            )
        },
    )
}

/// Names and titles of the experiments in a folder, sorted by name, 7 before 10.
pub fn list(folder: &Path) -> Result<Vec<(String, String)>, Failure> {
    let cannot =
        |error| Failure::file("cannot-read", format!("cannot read {}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if let Some(title) = Experiment::title(&entry.path()) {
            found.push((entry.file_name().to_string_lossy().into_owned(), title));
        }
    }
    found.sort_by_key(|(name, _)| by_number(name));
    Ok(found)
}

/// A name in parts without and with digits.
fn by_number(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(end);
        parts.push((text.to_owned(), number.parse().unwrap_or(0)));
        rest = tail;
    }
    parts
}

/// The name that stands for all experiments.
const ALL: &str = "all";

/// Returns true if all experiments are named.
pub fn is_all(names: &[String]) -> bool {
    names.iter().any(|name| name == ALL)
}

/// Reads the experiments that are named, all of the project with `all`.
pub fn experiments(names: &[String]) -> Result<Vec<Experiment>, Failure> {
    if !is_all(names) {
        return names.iter().map(|name| experiment(name)).collect();
    }
    let folder = find()?;
    let all = list(&folder)?.into_iter();
    all.map(|(name, _)| Experiment::read(&folder.join(name))).collect()
}

/// Reads an experiment by its name, or by the path of its folder.
fn experiment(name: &str) -> Result<Experiment, Failure> {
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
            "there is no experiment `{name}`\nhelp: there are {}; `all` is all of them; or name a folder, with a `/` in its path",
            names.join(", ")
        ),
    ))
}
