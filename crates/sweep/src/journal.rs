//! Finished shards in a file: what a sweep that is interrupted at any time has computed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, Experiment, Lines, SOURCES, Shard, TABLE, parquet_file};

/// Its name in the folder of a sweep.
const FILE: &str = "shards.jsonl";

/// The first line.
#[derive(Deserialize, Eq, PartialEq, Serialize)]
struct Header {
    /// Digest of the experiment, with all its points.
    experiment: String,
    /// [`SOURCES`].
    sources: String,
}

/// The finished shards of an experiment, in memory and in a file.
///
/// Each line of the file is a shard. A line that is cut off, because the process was killed, is
/// computed again. The file is locked while the journal exists.
#[derive(Debug)]
pub struct Journal {
    lines: Lines,
    shards: BTreeMap<u64, Shard>,
}

impl Journal {
    /// Opens the journal in a folder, which is made if it does not exist, with all finished shards.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written; another process uses it; or it, or an existing table,
    /// belongs to another experiment or version.
    pub fn open(folder: &Path, experiment: &Experiment) -> Result<Self, Error> {
        let (mut lines, found) = Lines::open(&folder.join(FILE))?;
        let own = header(experiment);
        let mut shards = BTreeMap::new();
        let Some(first) = found.first() else {
            let table = folder.join(TABLE);
            if table.exists() && !is_table_of(&table, &own) {
                // Nothing was kept in it.
                let _ = lines.remove();
                return Err(Error::Foreign { path: table, whose: "another experiment" });
            }
            lines.keep(&[])?;
            lines.add(&serde_json::to_string(&own).expect("words can be written"))?;
            return Ok(Self { lines, shards });
        };
        let foreign = |whose| Error::Foreign { path: folder.join(FILE), whose };
        let header: Option<Header> = serde_json::from_str(first).ok();
        let header = header.ok_or_else(|| foreign("something else"))?;
        if header.sources != own.sources {
            return Err(foreign("another version of this program"));
        }
        if header != own {
            return Err(foreign("another experiment"));
        }
        let whole = found[1..].iter().map_while(|line| Shard::from_line(experiment, line).ok());
        let whole: Vec<Shard> = whole.collect();
        lines.keep(&found[..=whole.len()])?;
        shards.extend(whole.into_iter().map(|shard| (shard.number(), shard)));
        Ok(Self { lines, shards })
    }

    /// Returns true if a shard is finished.
    pub fn has(&self, shard: u64) -> bool {
        self.shards.contains_key(&shard)
    }

    /// Returns the shards that are not finished.
    pub fn open_shards(&self, experiment: &Experiment) -> Vec<u64> {
        (0..experiment.shards()).filter(|shard| !self.has(*shard)).collect()
    }

    /// Returns the finished shards in their order.
    pub fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.values()
    }

    /// Keeps a finished shard.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn add(&mut self, shard: Shard) -> Result<(), Error> {
        self.lines.add(&shard.to_line())?;
        self.shards.insert(shard.number(), shard);
        Ok(())
    }

    /// Puts all shards into the table, and removes the journal. Returns the path of the table.
    ///
    /// The table replaces an older one only when it is complete; after an interruption the journal
    /// is unchanged.
    ///
    /// # Errors
    ///
    /// Shards are missing, or the table cannot be written.
    pub fn finish(self, experiment: &Experiment) -> Result<PathBuf, Error> {
        if let Some(shard) = self.open_shards(experiment).first() {
            return Err(Error::Shard(format!("shard {shard} is not finished")));
        }
        let table = self.lines.path().with_file_name(TABLE);
        parquet_file::write(&table, experiment, &self)?;
        self.lines.remove()?;
        Ok(table)
    }
}

/// Returns true if a table is of the experiment of a journal with this header, whatever version of this program computed it.
fn is_table_of(table: &Path, own: &Header) -> bool {
    let text = parquet_file::experiment(table);
    let experiment = text.and_then(|text| Experiment::from_toml("", &text).ok());
    experiment.is_some_and(|it| header(&it).experiment == own.experiment)
}

fn header(experiment: &Experiment) -> Header {
    let text = serde_json::to_vec(experiment).expect("numbers and words can be written");
    let digest = Sha256::digest(&text);
    let experiment = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Header { experiment, sources: SOURCES.to_owned() }
}
