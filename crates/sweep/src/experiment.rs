//! An experiment: read from TOML, with all its points.

mod journal;
mod read;

use std::fmt::Write;

use serde::Serialize;
use system::diagnostic::Errors;

use crate::kind::Kind;
use crate::{Column, Error, Scalar};

pub use journal::Finished;

/// An experiment whose parameters are valid at all of its points.
#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    // Private: points are those of the grid, each with workers that can be made.
    #[serde(skip)]
    title: String,
    #[serde(skip)]
    text: String,
    seed: u64,
    systems: u64,
    systems_per_shard: u64,
    parameters: Vec<String>,
    points: Vec<Point>,
}

/// A point of the grid.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    values: Vec<Scalar>,
    kind: Kind,
}

impl Experiment {
    /// Reads an experiment; `name` is what messages call the text.
    ///
    /// # Errors
    ///
    /// All mistakes with their places.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Errors> {
        read::experiment(name, text)
    }

    /// Returns the title: what the experiment shows, in a line.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the seed of its random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Systems of each point.
    pub fn systems(&self) -> u64 {
        self.systems
    }

    /// Names of the parameters that differ from point to point.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Its points: the last parameter changes fastest.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the columns of results, which are the same at all points.
    pub fn columns(&self) -> Vec<Column> {
        self.points.first().map(|point| point.kind.population().columns()).unwrap_or_default()
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> u64 {
        self.points.len() as u64 * self.shards_per_point()
    }

    /// Systems of a shard; the last one of a point has fewer.
    pub(crate) fn systems_per_shard(&self) -> u64 {
        self.systems_per_shard
    }

    pub(crate) fn shards_per_point(&self) -> u64 {
        self.systems.div_ceil(self.systems_per_shard)
    }

    /// Returns a failure of a system, with its place.
    pub(crate) fn failed(&self, point: usize, index: u64, error: Error) -> Error {
        let mut values = String::new();
        let of_point = self.points.get(point).map(Point::values).unwrap_or_default();
        for (name, value) in self.parameters.iter().zip(of_point) {
            let comma = if values.is_empty() { "" } else { ", " };
            let _ = write!(values, "{comma}{name} = {value}");
        }
        Error::System { point, values, index, error: Box::new(error) }
    }
}

impl Point {
    /// Returns the values of the parameters that differ, in their order.
    pub fn values(&self) -> &[Scalar] {
        &self.values
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }
}
