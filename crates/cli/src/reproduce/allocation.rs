//! Experiments that allocate random task sets: nothing is booted.
//!
//! A value is the mean of total VM utilisations over those task sets that all schemes of the
//! experiment can allocate at all places, or by how much one scheme needs more than another,
//! over those that both can allocate at that place. Task set `i` is stream `i` of the seed, and sums are
//! whole numbers: the values do not depend on the number of threads, nor on whether the run
//! was interrupted and went on later.

mod parts;
mod schemes;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use super::experiment::{Experiment, Measure, Statistic};
use super::values::{Value, Values};
use crate::failure::Failure;
use crate::run::signals::Signals;
use parts::{Part, Parts};
use schemes::Problem;

pub use schemes::Scheme;

/// Task sets that are allocated and stored together.
const PART: u64 = 50;
/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(100);

/// The task sets. What is not said is as in vCache, Table 3.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How many.
    pub sets: u64,
    /// How many with `--quick`.
    pub quick_sets: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Fewest and most tasks.
    pub tasks: [u64; 2],
    /// Utilisation of all tasks with one colour each.
    pub utilization: f64,
    /// Number of VCPUs of each VM.
    pub vcpus: usize,
    /// Colours of the cache.
    pub colors: usize,
    /// Deadlines in percent of periods.
    #[serde(default = "implicit")]
    pub deadline_percent: u64,
    /// Longest time to load a colour again, in microseconds.
    pub reload_us: u64,
}

fn implicit() -> u64 {
    100
}

/// By how many percent one scheme needs more than another, for the task sets that both allocate.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Excess {
    /// The one that needs more.
    pub scheme: Scheme,
    /// The other one.
    pub of: Scheme,
    /// Which of the task sets counts.
    pub take: Statistic,
}

/// What came out.
#[derive(Debug)]
pub struct Done {
    /// The values, as many as there are.
    pub values: Values,
    /// How many task sets they come from.
    pub note: String,
    /// Whether all task sets were allocated.
    pub complete: bool,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Allocates the task sets of an experiment, with so many threads. Parts that an interrupted
/// run has stored in `folder` are not computed again.
pub fn run(
    experiment: &Experiment,
    settings: &Settings,
    quick: bool,
    jobs: NonZeroUsize,
    signals: &Signals,
    folder: &Path,
) -> Result<Done, Failure> {
    let mut problem = Problem::new(settings)?;
    for runs in &experiment.plan.runs {
        let places: Result<Vec<usize>, _> = runs.places(quick).iter().map(|x| x.parse()).collect();
        let places = places.ok().filter(|places| places.iter().all(|k| *k <= settings.colors));
        let places = places.ok_or_else(|| {
            let text =
                format!("`x` of `{}`: numbers of colours go to {}", runs.series, settings.colors);
            Failure::new("experiment", text)
        })?;
        match runs.measure {
            Measure::Utilization(scheme) => problem.want(scheme, &places),
            Measure::Excess(Excess { scheme, of, .. }) => problem.compare(scheme, of, &places),
            _ => (),
        }
    }
    let sets = if quick { settings.quick_sets } else { settings.sets };
    let mut parts = Parts::open(folder, &problem, sets)?;
    let open: Vec<u64> = (0..sets.div_ceil(PART)).filter(|part| !parts.has(*part)).collect();
    let bar = progress(&experiment.name, sets);
    bar.set_position((sets.div_ceil(PART) - open.len() as u64) * PART);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut signal = None;
    let mut failure = None;
    thread::scope(|scope| {
        let (results, result) = mpsc::channel();
        for _ in 0..jobs.get().min(open.len()) {
            let (results, open, problem) = (results.clone(), &open, &problem);
            let (next, stop) = (&next, &stop);
            scope.spawn(move || {
                while let Some(&part) = open.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let last = sets.min((part + 1) * PART);
                    let computed = Part::compute(problem, part, part * PART..last, stop);
                    let Some(computed) = computed.transpose() else { return };
                    if results.send(computed).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results);
        loop {
            let stored = match result.recv_timeout(TICK) {
                Ok(part) => {
                    bar.inc(PART);
                    part.and_then(|part| parts.add(part))
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    bar.tick();
                    Ok(())
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = stored {
                failure.get_or_insert(error);
                stop.store(true, Ordering::SeqCst);
            }
            if let Some(caught) = signals.caught() {
                signal = Some(caught);
                stop.store(true, Ordering::SeqCst);
            }
        }
    });
    bar.finish_and_clear();
    if let Some(failure) = failure {
        return Err(failure);
    }
    let complete = parts.count() as u64 == sets.div_ceil(PART);
    let sums = parts.sums(&problem);
    let mut values = Vec::new();
    for runs in &experiment.plan.runs {
        for x in runs.places(quick) {
            let k = x.parse().unwrap_or_default();
            let percent = match runs.measure {
                Measure::Utilization(scheme) => sums.mean_percent(scheme, k),
                Measure::Excess(excess) => sums.excess_percent(excess, k),
                _ => None,
            };
            let Some(percent) = percent else { continue };
            let (series, x) = (runs.series.clone(), x.clone());
            values.push(Value { series, x, measured: percent, shown: percent, spread: None });
        }
    }
    if complete {
        parts.remove()?;
    }
    Ok(Done { values: Values(values), note: sums.note(), complete, signal })
}

/// On the standard error, if that is a terminal.
fn progress(name: &str, sets: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}  {wide_bar} {pos}/{len} task sets, {eta} left")
        .expect("the template is right");
    ProgressBar::new(sets).with_style(style).with_message(name.to_owned())
}

/// Names of schemes, for messages and files.
impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}
