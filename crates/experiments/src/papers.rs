//! The papers whose figures are measured again, and what of them is not: `papers.toml`.

use std::path::Path;

use lab::Failure;
use serde::Deserialize;

use crate::experiment;

/// Beside the experiments.
const FILE: &str = "papers.toml";

/// All papers, in the order in which they are shown.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Papers {
    /// See [`Paper`].
    #[serde(default, rename = "paper")]
    pub papers: Vec<Paper>,
}

/// A paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its name here: the `source` of its experiments begins with that.
    pub name: String,
    /// Authors, title, place.
    pub title: String,
    /// The parts of it that are not measured.
    #[serde(default, rename = "absent")]
    pub absent: Vec<Absent>,
}

/// Figures and tables that are not measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// The figures and tables, and the things that they show.
    pub what: String,
    /// The reason why they are not measured.
    pub why: String,
}

impl Papers {
    /// Reads the file in a folder of experiments; without it there are none.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let file = folder.join(FILE);
        if file.exists() { experiment::read(&file) } else { Ok(Self::default()) }
    }
}
