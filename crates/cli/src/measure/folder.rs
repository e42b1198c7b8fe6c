//! The folder of results.

use std::fs;
use std::path::{Path, PathBuf};

use lab::WholeFile;
use lab::site::refuse_other_results;
use measure::isolation::Report;
use report::site::Kind;
use serde::Serialize;

use super::{page, rows};
use crate::failure::Failure;

/// The folder of results.
pub struct Folder(PathBuf);

impl Folder {
    /// Made before anything is measured: a name that cannot be is known at once.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        refuse_other_results(path, Kind::Measure, None)?;
        fs::create_dir_all(path).map_err(|error| {
            Failure::file("output", format!("cannot create {}: {error}", path.display()))
        })?;
        Ok(Self(path.to_owned()))
    }

    /// The page for people.
    pub fn page(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// Writes all files; `document` is the report for programs.
    pub fn write(&self, report: &Report, document: &impl Serialize) -> Result<(), Failure> {
        let mut document = serde_json::to_string_pretty(document)
            .map_err(|error| Failure::file("output", error))?;
        document.push('\n');
        self.put("results.json", &document)?;
        self.put("results.csv", &rows::csv(report)?)?;
        self.put("report.html", &page::html(report)?)
    }

    /// The whole file or none.
    fn put(&self, name: &str, content: &str) -> Result<(), Failure> {
        let path = self.0.join(name);
        WholeFile::write(&path, content.as_bytes()).map_err(|error| {
            Failure::file("output", format!("cannot write {}: {error}", path.display()))
        })
    }
}
