//! Experiments with many random task sets: nothing is booted.
//!
//! Task set `i` is stream `i` of the seed, and sums are whole numbers: the values do not depend on the number of threads,
//! nor on whether the run was interrupted and went on later.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::{Failure, Watch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use sweep::family::Family;
use sweep::{Error, Journal, Recorded};

use crate::experiment::{Experiment, Measure};
use crate::values::{Value, Values};

/// Task sets that are computed and stored together.
const PART: u64 = 50;
/// The file, in the folder of the experiment's results.
const FILE: &str = "parts.jsonl";

/// A problem that is solved with task sets. As a document it tells problems apart.
pub trait Problem: Serialize + Sync {
    /// The results for task sets together.
    type Sums: Sums;

    /// The number of task sets.
    fn sets(&self, quick: bool) -> u64;

    /// Sums over no task set, for the part with this number.
    fn sums(&self, number: u64) -> Self::Sums;

    /// Draws a task set, evaluates it, and adds what comes out.
    fn evaluate(&self, set: u64, sums: &mut Self::Sums) -> Result<(), Error>;
}

/// Sums over some task sets of a problem.
pub trait Sums: Serialize + DeserializeOwned + Send {
    /// The number of the part that these task sets are.
    fn number(&self) -> u64;

    /// Adds the sums over other task sets of the same problem.
    fn add(&mut self, part: &Self);

    /// Returns the measured value at a place, in percent; `None` if nothing is known.
    fn percent(&self, measure: &Measure, x: &str) -> Option<f64>;

    /// Returns a note on the results.
    fn note(&self) -> String;
}

/// A problem with its number of task sets.
struct Parts<'a, P> {
    problem: &'a P,
    sets: u64,
}

impl<P: Problem> Family for Parts<'_, P> {
    type Shard = P::Sums;
    type Error = Error;

    fn shards(&self) -> u64 {
        self.sets.div_ceil(PART)
    }

    fn compute(&self, number: u64, stop: &AtomicBool) -> Result<Option<P::Sums>, Error> {
        let mut sums = self.problem.sums(number);
        for set in number * PART..self.sets.min((number + 1) * PART) {
            if stop.load(Ordering::SeqCst) {
                return Ok(None);
            }
            self.problem.evaluate(set, &mut sums)?;
        }
        Ok(Some(sums))
    }
}

impl<P: Problem> Recorded for Parts<'_, P> {
    fn header(&self) -> String {
        // What tells this program from others: its digest.
        let bytes = std::env::current_exe().and_then(fs::read).unwrap_or_default();
        let program = Sha256::digest(&bytes);
        let program: String = program.iter().map(|byte| format!("{byte:02x}")).collect();
        let header = (program, self.sets, self.problem);
        serde_json::to_string(&header).expect("numbers and words can be written")
    }

    fn number(sums: &P::Sums) -> u64 {
        sums.number()
    }
}

/// The results of an experiment with random task sets.
#[derive(Debug)]
pub struct Drawn {
    /// The values, as many as there are.
    pub values: Values,
    /// A note on the results.
    pub note: String,
    /// True if all task sets were computed.
    pub complete: bool,
    /// True if an earlier run has computed a part.
    pub resumed: bool,
}

/// Evaluates the task sets of an experiment with `jobs` threads. What an interrupted run has stored in `folder` is not computed again;
/// what another program has stored there, or for another problem, is of no use.
pub fn run<P: Problem>(
    experiment: &Experiment,
    problem: &P,
    quick: bool,
    jobs: NonZeroUsize,
    watch: &dyn Watch,
    folder: &Path,
) -> Result<Drawn, Failure> {
    let sets = problem.sets(quick);
    let parts = Parts { problem, sets };
    let mut journal = Journal::of(&parts, &folder.join(FILE)).map_err(failure)?;
    watch.begin(&experiment.name, "task sets", sets);
    let resumed = journal.shards().next().is_some();
    let shown = |finished: u64| {
        watch.done(sets.min(finished * PART));
        watch.tick();
        !watch.stops()
    };
    let complete = journal.fill(&parts, jobs, shown).map_err(failure)?;
    let mut sums = problem.sums(0);
    journal.shards().for_each(|part| sums.add(part));
    let mut values = Vec::new();
    for runs in &experiment.plan.runs {
        for x in runs.places(quick) {
            let Some(percent) = sums.percent(&runs.measure, x) else { continue };
            let (series, x) = (runs.series.clone(), x.clone());
            values.push(Value::new(series, x, percent, None));
        }
    }
    if complete {
        journal.remove().map_err(failure)?;
    }
    Ok(Drawn { values: values.into(), note: sums.note(), complete, resumed })
}

fn failure(error: Error) -> Failure {
    match error {
        Error::File { .. } | Error::Busy { .. } => Failure::file("output", error),
        _ => Failure::new("experiment", error),
    }
}
