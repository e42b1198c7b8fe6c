//! The figures of an experiment.

use serde::Deserialize;

use crate::values::Values;

/// One of several figures, over numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of its file, without `.svg`.
    pub file: String,
    /// Its content, in a line.
    pub title: String,
    /// The places of the values: label of the axis.
    pub x: String,
    /// The quantity of the values, with their unit.
    pub y: String,
    /// The series in it.
    pub series: Vec<String>,
}

impl Figure {
    /// Returns true if one of the series has values.
    pub fn has_values(&self, values: &Values) -> bool {
        values.all.iter().any(|value| self.series.contains(&value.series))
    }
}
