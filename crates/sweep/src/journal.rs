//! Finished shards in a file: what a sweep that is interrupted at any time has computed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, Experiment, SOURCES, Shard, TABLE, parquet_file};

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

/// The finished shards of an experiment, here and in a file.
///
/// A line is a shard. One that was cut off, because the process was killed, is removed when the file
/// is opened again, and computed anew. The file is locked while this exists.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    shards: BTreeMap<u64, Shard>,
}

impl Journal {
    /// Opens the journal in a folder, which is made if it is not there, with all shards that are
    /// finished.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, another process uses it, or it belongs to another
    /// experiment or version, as does a table that is there.
    pub fn open(folder: &Path, experiment: &Experiment) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let cannot = |what| {
            let path = path.clone();
            move |error| Error::File { what, path, error }
        };
        fs::create_dir_all(folder).map_err(cannot("write"))?;
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let mut file = file.map_err(cannot("write"))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(Error::Busy { path });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(cannot("read"))?;
        let mut lines = whole_lines(&bytes);
        let own = header(experiment);
        let mut shards = BTreeMap::new();
        let kept = match lines.next() {
            None => {
                let table = folder.join(TABLE);
                if table.exists() && !is_table_of(&table, &own) {
                    let whose = "another experiment";
                    // Nothing was kept in it.
                    let _ = fs::remove_file(&path);
                    return Err(Error::Foreign { path: table, whose });
                }
                0
            }
            Some((_, line)) => {
                let found: Option<Header> = serde_json::from_str(line).ok();
                let foreign = |whose| Error::Foreign { path: path.clone(), whose };
                let found = found.ok_or_else(|| foreign("something else"))?;
                if found.sources != own.sources {
                    return Err(foreign("another version of this program"));
                }
                if found != own {
                    return Err(foreign("another experiment"));
                }
                let mut kept = line.len() + 1;
                for (end, line) in lines {
                    let Ok(shard) = Shard::from_line(experiment, line) else { break };
                    shards.insert(shard.number(), shard);
                    kept = end;
                }
                kept
            }
        };
        file.set_len(kept as u64).map_err(cannot("write"))?;
        file.seek(SeekFrom::End(0)).map_err(cannot("write"))?;
        if kept == 0 {
            let line = serde_json::to_string(&own).expect("words can be written");
            writeln!(file, "{line}").map_err(cannot("write"))?;
        }
        Ok(Self { path, file, shards })
    }

    /// Whether a shard is finished.
    pub fn has(&self, shard: u64) -> bool {
        self.shards.contains_key(&shard)
    }

    /// The shards that are not finished.
    pub fn open_shards(&self, experiment: &Experiment) -> Vec<u64> {
        (0..experiment.shards()).filter(|shard| !self.has(*shard)).collect()
    }

    /// The finished shards in their order.
    pub fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.values()
    }

    /// Keeps a finished shard.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn add(&mut self, shard: Shard) -> Result<(), Error> {
        // In one piece, so that nothing else is ever cut off but the last line.
        let line = format!("{}\n", shard.to_line());
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|error| Error::File { what: "write", path: self.path.clone(), error })?;
        self.shards.insert(shard.number(), shard);
        Ok(())
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
        let table = self.path.with_file_name(TABLE);
        parquet_file::write(&table, experiment, &self)?;
        fs::remove_file(&self.path).map_err(|error| Error::File {
            what: "remove",
            path: self.path.clone(),
            error,
        })?;
        Ok(table)
    }
}

/// Returns true if a table is of the experiment of a journal with this header, whatever version of this program computed it.
fn is_table_of(table: &Path, own: &Header) -> bool {
    let text = parquet_file::experiment(table);
    let experiment = text.and_then(|text| Experiment::from_toml("", &text).ok());
    experiment.is_some_and(|it| header(&it).experiment == own.experiment)
}

/// Lines that end, each with the offset behind it.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    bytes.split_inclusive(|byte| *byte == b'\n').map_while(move |line| {
        end += line.len();
        let line = line.strip_suffix(b"\n")?;
        Some((end, std::str::from_utf8(line).ok()?))
    })
}

fn header(experiment: &Experiment) -> Header {
    let text = serde_json::to_vec(experiment).expect("numbers and words can be written");
    let digest = Sha256::digest(&text);
    let experiment = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Header { experiment, sources: SOURCES.to_owned() }
}
