//! The journal of an experiment, whose shards become one table.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::family::Family;
use crate::journal::{Journal, Recorded};
use crate::{Error, Experiment, SOURCES, Shard, TABLE, parquet_file};

/// The journal in the folder of a sweep.
const JOURNAL: &str = "shards.jsonl";

/// The first line of the journal.
#[derive(Deserialize, Serialize)]
struct Header {
    /// Digest of the experiment, with all its points.
    experiment: String,
    /// [`SOURCES`].
    sources: String,
}

impl Header {
    fn of(experiment: &Experiment) -> Self {
        let text = serde_json::to_vec(experiment).expect("numbers and words can be written");
        let digest = Sha256::digest(&text);
        let experiment = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { experiment, sources: SOURCES.to_owned() }
    }
}

impl Family for Experiment {
    type Shard = Shard;
    type Error = Error;

    fn shards(&self) -> u64 {
        Self::shards(self)
    }

    fn compute(&self, number: u64, stop: &AtomicBool) -> Result<Option<Shard>, Error> {
        Shard::compute(self, number, stop)
    }
}

impl Recorded for Experiment {
    fn header(&self) -> String {
        serde_json::to_string(&Header::of(self)).expect("words can be written")
    }

    fn number(shard: &Shard) -> u64 {
        shard.number()
    }

    fn read(&self, line: &str) -> Option<Shard> {
        Shard::from_line(self, line).ok()
    }

    /// Refuses where a journal or a table is of another experiment or version.
    fn begin(&self, file: &Path, other: Option<&str>) -> Result<(), Error> {
        let own = Header::of(self);
        let foreign = |path: &Path, whose| Err(Error::Foreign { path: path.to_owned(), whose });
        let Some(other) = other else {
            let table = file.with_file_name(TABLE);
            return match table.exists() && !is_table_of(&table, &own) {
                true => foreign(&table, "another experiment"),
                false => Ok(()),
            };
        };
        foreign(
            file,
            match serde_json::from_str::<Header>(other) {
                Err(_) => "something else",
                Ok(it) if it.sources != own.sources => "another version of this program",
                Ok(_) => "another experiment",
            },
        )
    }
}

impl Journal {
    /// Opens the journal in the folder of a sweep, which is made if it is not there, with all shards that are
    /// finished.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, another process uses it, or it belongs to another
    /// experiment or version, as does a table that is there.
    pub fn open(folder: &Path, experiment: &Experiment) -> Result<Self, Error> {
        Self::of(experiment, &folder.join(JOURNAL))
    }

    /// Puts all shards into the table, and removes the journal. Returns the path of the table.
    ///
    /// The table replaces one that is there when it is whole; who is interrupted before finds the
    /// journal as it was.
    ///
    /// # Errors
    ///
    /// Shards are missing, or the table cannot be written.
    pub fn finish(self, experiment: &Experiment) -> Result<PathBuf, Error> {
        if let Some(shard) = self.open_shards(experiment).first() {
            return Err(Error::Shard(format!("shard {shard} is not finished")));
        }
        let table = self.path().with_file_name(TABLE);
        parquet_file::write(&table, experiment, &self)?;
        self.remove()?;
        Ok(table)
    }
}

/// The table of a sweep that is complete.
#[derive(Debug)]
pub struct Finished {
    /// Path of the table.
    pub table: PathBuf,
    shards: Vec<Shard>,
}

impl Finished {
    /// Finds the table of this experiment, computed by this version of the program, in the folder
    /// of a sweep. `None` if there is a journal: then the sweep is not complete, or computed again.
    pub fn find(folder: &Path, experiment: &Experiment) -> Option<Self> {
        let table = folder.join(TABLE);
        // The table also has the title and all comments.
        let is_of = parquet_file::experiment(&table).is_some_and(|it| it == experiment.text());
        if folder.join(JOURNAL).exists() || !is_of {
            return None;
        }
        let shards = parquet_file::shards(&table, experiment)?;
        Some(Self { table, shards })
    }

    /// Returns its shards in their order.
    pub fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter()
    }
}

/// Returns true if a table is of the experiment of a journal with this header, whatever version of this program computed it.
fn is_table_of(table: &Path, own: &Header) -> bool {
    let text = parquet_file::experiment(table);
    let experiment = text.and_then(|text| Experiment::from_toml("", &text).ok());
    experiment.is_some_and(|it| Header::of(&it).experiment == own.experiment)
}
