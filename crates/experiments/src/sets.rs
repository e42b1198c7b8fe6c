//! Many random task sets: computed in parts by several threads, with progress. What an interrupted
//! run has computed is kept in a file, and not computed again.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lab::{Failure, Watch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use sweep::{Lines, pool};

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
    lines: Lines,
    done: BTreeMap<u64, P>,
}

impl<P: Part> Parts<P> {
    /// Reads what an interrupted run of the same program has computed for the same problem.
    fn open(folder: &Path, problem: &impl Serialize, sets: u64) -> Result<Self, Failure> {
        let first = line(&(program(), sets, problem))?;
        let (mut lines, found) = Lines::open(&folder.join(FILE)).map_err(failed)?;
        let mut done = BTreeMap::new();
        match found.split_first() {
            Some((header, parts)) if *header == first => {
                let parts = parts.iter().map_while(|line| serde_json::from_str::<P>(line).ok());
                let parts: Vec<P> = parts.collect();
                lines.keep(&found[..=parts.len()]).map_err(failed)?;
                done.extend(parts.into_iter().map(|part| (part.number(), part)));
            }
            // What another program has computed, or for another problem, is of no use.
            _ => {
                lines.keep(&[]).map_err(failed)?;
                lines.add(&first).map_err(failed)?;
            }
        }
        Ok(Self { lines, done })
    }

    /// Returns true if a part is computed.
    fn has(&self, number: u64) -> bool {
        self.done.contains_key(&number)
    }

    /// Keeps a part.
    fn add(&mut self, part: P) -> Result<(), Failure> {
        self.lines.add(&line(&part)?).map_err(failed)?;
        self.done.insert(part.number(), part);
        Ok(())
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &P> {
        self.done.values()
    }

    /// Removes the file: all is computed.
    pub fn remove(self) -> Result<(), Failure> {
        self.lines.remove().map_err(failed)
    }
}

fn line(content: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(content).map_err(|error| Failure::new("output", error))
}

fn failed(error: sweep::Error) -> Failure {
    Failure::new("output", error)
}

/// What tells this program from others: its digest.
fn program() -> String {
    let bytes = std::env::current_exe().and_then(fs::read).unwrap_or_default();
    Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
