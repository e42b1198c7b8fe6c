//! What the figures of an experiment show.

use serde::Deserialize;

use crate::values::Values;

/// One of several figures, over numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of its file, without `.svg`.
    pub file: String,
    /// What it shows, in a line.
    pub title: String,
    /// What the values belong to: label of the axis.
    pub x: String,
    /// What the values are, with their unit.
    pub y: String,
    /// What is in it.
    pub series: Vec<String>,
}

impl Figure {
    /// Returns true if one of the series has values.
    pub fn has_values(&self, values: &Values) -> bool {
        values.all.iter().any(|value| self.series.contains(&value.series))
    }
}
