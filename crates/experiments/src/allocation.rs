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

use lab::{Failure, Watch};
use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, Measure};
use crate::job::Statistic;
use crate::sets::{self, Drawn};
use crate::values::{Value, Values};
use parts::Sums;
use schemes::Problem;

pub use sweep::allocation::Scheme;

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

/// Allocates the task sets of an experiment, with so many threads. Parts that an interrupted
/// run has stored in `folder` are not computed again.
pub fn run(
    experiment: &Experiment,
    settings: &Settings,
    quick: bool,
    jobs: NonZeroUsize,
    watch: &dyn Watch,
    folder: &Path,
) -> Result<Drawn, Failure> {
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
    let done = sets::run(&experiment.name, &problem, sets, jobs, watch, folder)?;
    let sums = Sums::of(&done.parts, &problem);
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
    let sets::Done { parts, complete } = done;
    if complete {
        parts.remove()?;
    }
    Ok(Drawn { values: Values(values), note: sums.note(), complete })
}
