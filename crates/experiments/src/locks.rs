//! Experiments that analyse random task sets with locks: nothing is booted.
//!
//! A value is the share of task sets in percent that meet their deadlines for sure. Task set `i` is
//! stream `i` of the seed at all places, and each scheme and analysis sees the same ones. So the values
//! do not depend on the number of threads, nor on whether the run was interrupted and went on later.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use analysis::Duration;
use lab::{Failure, Watch};
use serde::{Deserialize, Serialize};
use sweep::locks::{self, Evaluator};
use taskgen::vmpcp::{Parameters, TABLE_1};

use crate::experiment::{Experiment, Measure};
use crate::sets::{self, Drawn};
use crate::values::{Value, Values};

/// The task sets. What is not said is as in vMPCP, Table I.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How many.
    sets: u64,
    /// How many with `--quick`.
    quick_sets: u64,
    /// Seed of the random numbers.
    seed: u64,
    /// What `x` is.
    vary: Vary,
}

/// What differs from place to place.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Vary {
    /// Length of a section in microseconds.
    SectionUs,
    /// Tasks that lock a mutex.
    Lockers,
    /// Sections of each task.
    SectionsPerTask,
    /// Period of VCPUs in milliseconds.
    VcpuPeriodMs,
    /// Utilisation of the tasks of a VCPU in percent.
    UtilizationPercent,
}

pub use sweep::locks::Scheme;

/// Schemes by place.
#[derive(Debug, Serialize)]
struct Problem {
    settings: Settings,
    places: BTreeMap<u64, BTreeSet<Scheme>>,
}

/// What came out for some task sets.
#[derive(Debug, Deserialize, Serialize)]
struct Part {
    number: u64,
    sets: u64,
    /// Task sets that are schedulable, by place and scheme.
    good: Vec<(u64, Scheme, u64)>,
}

/// Analyses the task sets of an experiment, with so many threads. What an interrupted run has stored
/// in `folder` is not computed again.
pub fn run(
    experiment: &Experiment,
    settings: &Settings,
    quick: bool,
    jobs: NonZeroUsize,
    watch: &dyn Watch,
    folder: &Path,
) -> Result<Drawn, Failure> {
    let mut places: BTreeMap<u64, BTreeSet<Scheme>> = BTreeMap::new();
    let all = || {
        experiment.plan.runs.iter().filter_map(|runs| match runs.measure {
            Measure::Schedulable(scheme) => Some((runs, scheme)),
            _ => None,
        })
    };
    for (runs, scheme) in all() {
        for x in runs.places(quick) {
            let x = x.parse().map_err(|_| {
                let text = format!("`x` of `{}`: `{x}` is no number", runs.series);
                Failure::new("experiment", text)
            })?;
            places.entry(x).or_default().insert(scheme);
        }
    }
    let problem = Problem { settings: settings.clone(), places };
    let sets = if quick { settings.quick_sets } else { settings.sets };
    let sets::Done { parts, complete } =
        sets::run(&experiment.name, &problem, sets, jobs, watch, folder)?;
    let done: u64 = parts.all().map(|part| part.sets).sum();
    let mut good: BTreeMap<(u64, Scheme), u64> = BTreeMap::new();
    for &(x, scheme, count) in parts.all().flat_map(|part| &part.good) {
        *good.entry((x, scheme)).or_default() += count;
    }
    let mut values = Vec::new();
    for (runs, scheme) in all().filter(|_| done > 0) {
        for x in runs.places(quick) {
            let place = x.parse().unwrap_or_default();
            let good = good.get(&(place, scheme)).copied().unwrap_or_default();
            let percent = good as f64 * 100.0 / done as f64;
            let (series, x) = (runs.series.clone(), x.clone());
            values.push(Value { series, x, measured: percent, shown: percent, spread: None });
        }
    }
    if complete {
        parts.remove()?;
    }
    Ok(Drawn {
        values: Values(values),
        note: format!("Shares are of {done} task sets at each place."),
        complete,
    })
}

impl sets::Part for Part {
    fn number(&self) -> u64 {
        self.number
    }
}

impl sets::Problem for Problem {
    type Part = Part;

    fn compute(
        &self,
        number: u64,
        sets: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Option<Part>, Failure> {
        let mut evaluator = Evaluator::new();
        let mut good: BTreeMap<(u64, Scheme), u64> = BTreeMap::new();
        for set in sets.clone() {
            for (&x, schemes) in &self.places {
                if stop.load(Ordering::SeqCst) {
                    return Ok(None);
                }
                let failed = |error| Failure::new("experiment", format!("`x` = {x}: {error}"));
                let system = locks::draw(&self.parameters(x), self.settings.seed, set);
                let system = system.map_err(failed)?;
                for &scheme in schemes {
                    let outcome = evaluator.evaluate(&system, scheme, self.vcpu_period(x));
                    let fits = outcome.map_err(failed)?.schedulable;
                    *good.entry((x, scheme)).or_default() += u64::from(fits);
                }
            }
        }
        let good = good.into_iter().map(|((x, scheme), count)| (x, scheme, count)).collect();
        Ok(Some(Part { number, sets: sets.end - sets.start, good }))
    }
}

impl Problem {
    fn parameters(&self, x: u64) -> Parameters {
        let us = |time: u64| policy::time::Duration(time.saturating_mul(1_000));
        match self.settings.vary {
            Vary::SectionUs => Parameters { section: us(x), ..TABLE_1 },
            Vary::Lockers => Parameters { lockers: x as usize, ..TABLE_1 },
            Vary::SectionsPerTask => Parameters { sections_per_task: x as usize, ..TABLE_1 },
            Vary::VcpuPeriodMs => TABLE_1,
            Vary::UtilizationPercent => Parameters { utilization: x as f64 / 100.0, ..TABLE_1 },
        }
    }

    fn vcpu_period(&self, x: u64) -> Duration {
        const MS: u64 = 1_000_000;
        match self.settings.vary {
            Vary::VcpuPeriodMs => Duration(x.saturating_mul(MS)),
            _ => Duration(5 * MS),
        }
    }
}
