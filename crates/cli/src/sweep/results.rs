//! The results of a sweep, for people and for machines.

use std::path::{Path, PathBuf};

use report::text::table;
use serde_json::{Map, Value, json};
use sweep::{Experiment, PointSummary, Scalar, Summary};

/// The results of a sweep.
pub struct Results<'a> {
    /// Name of the experiment's file.
    pub file: &'a str,
    /// Folder of the results.
    pub folder: &'a Path,
    /// The table; none if not all systems are evaluated.
    pub table: Option<PathBuf>,
    /// True if the table was there before, so that nothing was computed.
    pub already: bool,
    /// Shards that are finished.
    pub finished: u64,
    /// The experiment.
    pub experiment: Experiment,
    /// Its points.
    pub summary: Summary,
}

impl Results<'_> {
    /// Returns the results as text for people.
    pub fn text(&self) -> String {
        let (names, lines) = self.summary.lines();
        let parameters = self.experiment.parameters().iter().map(String::as_str);
        let heading = parameters.chain(["systems"]).chain(names.iter().map(String::as_str));
        let heading: Vec<String> = heading.map(|name| format!(">{name}")).collect();
        let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
        let mut text = format!("{}\n\n{}\n", self.experiment.title(), table(&heading, &lines));
        if !self.summary.holds() {
            text.push_str(
                "a simulated response time is above its bound (column `exceeded`): the analysis is \
                 refuted\n",
            );
        }
        text + &match &self.table {
            Some(table) if self.already => format!(
                "all systems: {}, complete before; `--again` computes it once more\n",
                table.display()
            ),
            Some(table) => format!("all systems: {}\n", table.display()),
            None => format!(
                "interrupted: {} of {} shards are finished and kept in {}; the same command continues there\n",
                self.finished,
                self.experiment.shards(),
                self.folder.display()
            ),
        }
    }

    /// Returns the results as a document for machines.
    pub fn document(&self) -> Value {
        let points: Vec<Value> =
            self.summary.points.iter().map(|point| self.point(point)).collect();
        json!({
            "ok": self.summary.holds(),
            "file": self.file,
            "title": self.experiment.title(),
            "complete": self.table.is_some(),
            "already_complete": self.already,
            "shards": self.experiment.shards(),
            "finished_shards": self.finished,
            "table": self.table.as_ref().map(|table| table.display().to_string()),
            "points": points,
            "errors": [],
        })
    }

    fn point(&self, point: &PointSummary) -> Value {
        let mut fields = Map::new();
        for (name, value) in self.experiment.parameters().iter().zip(&point.values) {
            let value = match value {
                Scalar::Int(value) => json!(value),
                Scalar::Real(value) => json!(value),
                Scalar::Text(value) => json!(value),
            };
            fields.insert(name.clone(), value);
        }
        fields.insert("systems".into(), json!(point.systems));
        for (name, cell) in self.summary.columns.iter().zip(&point.cells) {
            fields.insert(name.clone(), json!(cell));
        }
        Value::Object(fields)
    }
}
