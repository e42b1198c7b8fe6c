//! The kinds of random systems, and how each is evaluated.

use serde::Serialize;

use crate::{Cell, Column, Error, Scalar, allocation, locks, servers};

/// A kind of random systems with all of its parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Systems of vCache.
    Allocation(allocation::Settings),
    /// Systems of vMPCP.
    Locks(locks::Settings),
    /// VCPUs with servers.
    Servers(servers::Settings),
}

/// The random systems of one kind, with their parameters.
pub trait Population {
    /// Returns the parameters that a grid can have.
    fn parameters(&self) -> &'static [&'static str];

    /// Gives a parameter a value; says what was expected if it cannot have it.
    fn set(&mut self, parameter: &str, value: &Scalar) -> Result<(), String>;

    /// Returns the columns of results.
    fn columns(&self) -> Vec<Column>;

    /// Returns the worker that computes rows with these parameters.
    fn worker(&self) -> Result<Box<dyn Worker>, Error>;
}

/// Draws and evaluates systems of one point, one after the other.
pub trait Worker {
    /// Draws a system, to see whether that is possible.
    fn draws(&mut self, seed: u64, stream: u64) -> Result<(), Error>;

    /// Returns the cells of a system: a stream of the seed.
    fn row(&mut self, seed: u64, stream: u64) -> Result<Vec<Cell>, Error>;
}

impl Kind {
    /// Returns what all kinds have.
    pub fn population(&self) -> &dyn Population {
        match self {
            Self::Allocation(settings) => settings,
            Self::Locks(settings) => settings,
            Self::Servers(settings) => settings,
        }
    }

    /// Returns the same, to be changed.
    pub fn population_mut(&mut self) -> &mut dyn Population {
        match self {
            Self::Allocation(settings) => settings,
            Self::Locks(settings) => settings,
            Self::Servers(settings) => settings,
        }
    }
}

/// Refuses a number that is not in a range.
pub fn within(name: &str, value: u64, least: u64, most: u64) -> Result<(), Error> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => {
            Err(Error::Parameters(format!("`{name}` is {value}, and has to be {least} to {most}")))
        }
    }
}

/// Refuses a pair that is no range within another.
pub fn range(name: &str, [first, last]: [u64; 2], least: u64, most: u64) -> Result<(), Error> {
    within(name, first, least, most)?;
    within(name, last, least, most)?;
    match first <= last {
        true => Ok(()),
        false => Err(Error::Parameters(format!(
            "`{name}` starts at {first}, but ends at {last}: swap the two"
        ))),
    }
}

/// Refuses what is no number of 0 or more.
pub fn not_negative(name: &str, value: f64) -> Result<(), Error> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => {
            Err(Error::Parameters(format!("`{name}` is {value}, and has to be a number from 0")))
        }
    }
}
