//! Many random task sets: computed in parts by several threads, with progress. What an interrupted
//! run has computed is kept in a file, and not computed again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lab::{Failure, Watch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use sweep::pool;

use crate::values::Values;

/// Task sets that are computed and stored together.
const PART: u64 = 50;
/// The file, in the folder of the experiment's results.
const FILE: &str = "parts.jsonl";

/// What is to be computed. As a document it tells problems apart.
pub trait Problem: Serialize + Sync {
    /// What comes out for some task sets together.
    type Part: Part;

    /// Computes these task sets; none if it was stopped.
    fn compute(
        &self,
        number: u64,
        sets: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Option<Self::Part>, Failure>;
}

/// What came out for some task sets.
pub trait Part: Serialize + DeserializeOwned + Send {
    /// Its number.
    fn number(&self) -> u64;
}

/// What an experiment with random task sets came to.
#[derive(Debug)]
pub struct Drawn {
    /// The values, as many as there are.
    pub values: Values,
    /// What else there is to say.
    pub note: String,
    /// Whether all task sets were computed.
    pub complete: bool,
}

/// What was computed.
#[derive(Debug)]
pub struct Done<P> {
    /// The parts that are computed.
    pub parts: Parts<P>,
    /// Whether all task sets are computed.
    pub complete: bool,
}

/// Computes so many task sets with so many threads.
pub fn run<P: Problem>(
    name: &str,
    problem: &P,
    sets: u64,
    jobs: NonZeroUsize,
    watch: &dyn Watch,
    folder: &Path,
) -> Result<Done<P::Part>, Failure> {
    let mut parts = Parts::open(folder, problem, sets)?;
    let open: Vec<u64> = (0..sets.div_ceil(PART)).filter(|part| !parts.has(*part)).collect();
    watch.begin(name, "task sets", sets);
    let mut finished = (sets.div_ceil(PART) - open.len() as u64) * PART;
    watch.done(finished);
    let mut failure = None;
    let compute = |part: &u64, stop: &_| {
        let last = sets.min((part + 1) * PART);
        problem.compute(*part, part * PART..last, stop).transpose()
    };
    pool::each(&open, jobs, compute, |computed| {
        let stored = match computed {
            Some(part) => {
                finished += PART;
                watch.done(finished);
                part.and_then(|part| parts.add(part))
            }
            None => {
                watch.tick();
                Ok(())
            }
        };
        if let Err(error) = stored {
            failure.get_or_insert(error);
        }
        failure.is_none() && !watch.stops()
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    let complete = parts.done.len() as u64 == sets.div_ceil(PART);
    Ok(Done { parts, complete })
}

/// The parts that are computed, here and in the file.
#[derive(Debug)]
pub struct Parts<P> {
    path: PathBuf,
    file: File,
    done: BTreeMap<u64, P>,
}

impl<P: Part> Parts<P> {
    /// Reads what an interrupted run of the same program has computed for the same problem.
    fn open(folder: &Path, problem: &impl Serialize, sets: u64) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let failed = |error: std::io::Error| {
            Failure::new("output", format!("cannot write {}: {error}", path.display()))
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let first = serde_json::to_string(&(program(), sets, problem))
            .map_err(|error| Failure::new("output", error))?;
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines();
        let mut done = BTreeMap::new();
        if lines.next() == Some(first.as_str()) {
            // A line that was cut off is computed again.
            let parts = lines.filter_map(|line| serde_json::from_str::<P>(line).ok());
            done.extend(parts.map(|part| (part.number(), part)));
        }
        let mut file = File::create(&path).map_err(failed)?;
        writeln!(file, "{first}").map_err(failed)?;
        let mut parts = Self { path, file, done: BTreeMap::new() };
        done.into_values().try_for_each(|part| parts.add(part))?;
        Ok(parts)
    }

    /// Whether a part is computed.
    fn has(&self, number: u64) -> bool {
        self.done.contains_key(&number)
    }

    /// Keeps a part.
    fn add(&mut self, part: P) -> Result<(), Failure> {
        let line = serde_json::to_string(&part).map_err(|error| Failure::new("output", error))?;
        writeln!(self.file, "{line}").map_err(|error| {
            Failure::new("output", format!("cannot write {}: {error}", self.path.display()))
        })?;
        self.done.insert(part.number(), part);
        Ok(())
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &P> {
        self.done.values()
    }

    /// Removes the file: all is computed.
    pub fn remove(self) -> Result<(), Failure> {
        fs::remove_file(&self.path).map_err(|error| {
            Failure::new("output", format!("cannot remove {}: {error}", self.path.display()))
        })
    }
}

/// What tells this program from others: its digest.
fn program() -> String {
    let bytes = std::env::current_exe().and_then(fs::read).unwrap_or_default();
    Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
