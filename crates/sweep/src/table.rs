//! The columns and cells of results.

use serde::{Deserialize, Serialize};

/// A result of one system.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// There is none.
    Missing,
    /// Yes or no.
    Bool(bool),
    /// A whole number, in the unit that its column is named after.
    Int(i64),
}

impl Cell {
    /// Returns a whole number, if there is one; those beyond 63 bits are cut to the largest.
    pub fn int(number: Option<impl TryInto<i64>>) -> Self {
        number.map_or(Self::Missing, |number| Self::Int(number.try_into().unwrap_or(i64::MAX)))
    }
}

/// A column of results.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Column {
    /// Name of the column: the quantity and its unit.
    pub name: String,
    /// The summary of its cells.
    pub summarize: Summarize,
}

impl Column {
    /// Returns a column with this name.
    pub fn new(name: impl Into<String>, summarize: Summarize) -> Self {
        Self { name: name.into(), summarize }
    }

    /// Returns true if its cells are yes or no, not numbers.
    pub fn is_bool(&self) -> bool {
        self.summarize == Summarize::Share
    }
}

/// The way to summarise the cells of a column at a point.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Summarize {
    /// The share of systems for which it is true.
    Share,
    /// The mean over the systems for which the column with this index is true.
    MeanWhere(usize),
    /// The mean over systems that have a number.
    Mean,
    /// The greatest number.
    Max,
    /// The sum, which has to be 0: any other value refutes an analysis.
    Zero,
}
