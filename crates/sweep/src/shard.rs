//! A part of an experiment that is computed at a time.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::{Cell, Error, Experiment};

/// Bits of a stream that number the systems of a point; those above number the points.
pub const INDEX_BITS: u32 = 32;

/// The results of some systems of one point.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    shard: u64,
    rows: Vec<Vec<Cell>>,
}

/// Returns the stream of a system.
fn stream(point: usize, index: u64) -> u64 {
    (point as u64) << INDEX_BITS | index
}

/// Draws the first system of a point, to find out whether the point has systems.
pub fn first(experiment: &Experiment, point: usize) -> Result<(), Error> {
    let worker = experiment.points()[point].kind().population().worker();
    let mut worker = worker.map_err(|error| experiment.failed(point, 0, error))?;
    let drawn = worker.draws(experiment.seed(), stream(point, 0));
    drawn.map_err(|error| experiment.failed(point, 0, error))
}

impl Shard {
    /// Computes a shard; none if it was stopped.
    ///
    /// # Errors
    ///
    /// There is no such shard, or a system fails.
    pub fn compute(
        experiment: &Experiment,
        number: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, Error> {
        let (point, indices) = place(experiment, number)?;
        let mut worker = experiment.points()[point].kind().population().worker()?;
        let mut rows = Vec::with_capacity((indices.end - indices.start) as usize);
        for index in indices {
            if stop.load(Ordering::SeqCst) {
                return Ok(None);
            }
            let row = worker.row(experiment.seed(), stream(point, index));
            rows.push(row.map_err(|error| experiment.failed(point, index, error))?);
        }
        Ok(Some(Self { shard: number, rows }))
    }

    /// Returns the number of the shard.
    pub fn number(&self) -> u64 {
        self.shard
    }

    /// Returns a row for each of its systems.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Returns the shard as a line of text.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("numbers and words can be written")
    }

    /// Reads a line of text that is a shard of this experiment.
    ///
    /// # Errors
    ///
    /// The line is not such a shard.
    pub fn from_line(experiment: &Experiment, line: &str) -> Result<Self, Error> {
        let shard: Self =
            serde_json::from_str(line).map_err(|error| Error::Shard(error.to_string()))?;
        Self::new(experiment, shard.shard, shard.rows)
    }

    /// Returns the shard with these rows.
    ///
    /// # Errors
    ///
    /// The rows are not those of such a shard.
    pub(crate) fn new(
        experiment: &Experiment,
        shard: u64,
        rows: Vec<Vec<Cell>>,
    ) -> Result<Self, Error> {
        let (_, indices) = place(experiment, shard)?;
        let columns = experiment.columns();
        let fits = |row: &Vec<Cell>| {
            row.len() == columns.len()
                && row.iter().zip(&columns).all(|(cell, column)| match cell {
                    Cell::Missing => true,
                    Cell::Bool(_) => column.is_bool(),
                    Cell::Int(_) => !column.is_bool(),
                })
        };
        let count = indices.end - indices.start;
        match rows.len() as u64 == count && rows.iter().all(fits) {
            true => Ok(Self { shard, rows }),
            false => Err(Error::Shard(format!("shard {shard} has other rows"))),
        }
    }
}

/// Returns the point and the systems of a shard.
pub fn place(experiment: &Experiment, number: u64) -> Result<(usize, Range<u64>), Error> {
    if number >= experiment.shards() {
        let text = format!("there are {} shards, and no {number}", experiment.shards());
        return Err(Error::Shard(text));
    }
    let (point, part) =
        (number / experiment.shards_per_point(), number % experiment.shards_per_point());
    let each = experiment.systems_per_shard();
    Ok((point as usize, part * each..experiment.systems().min((part + 1) * each)))
}
