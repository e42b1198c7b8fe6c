//! Experiments that analyse random task sets with locks.
//!
//! A value is the share of task sets in percent that meet their deadlines for sure. At all places, each scheme and
//! analysis sees the same task sets.

use std::collections::{BTreeMap, BTreeSet};

use analysis::Duration;
use lab::Failure;
use serde::{Deserialize, Serialize};
use sweep::Error;
use sweep::locks::{self, Evaluator, Scheme};
use taskgen::vmpcp::{Parameters, TABLE_1};

use crate::experiment::{Experiment, Locks, Measure, Vary};
use crate::sets;

/// Schemes by place.
#[derive(Debug, Serialize)]
pub struct Problem {
    settings: Locks,
    places: BTreeMap<u64, BTreeSet<Scheme>>,
}

/// The results for some task sets.
#[derive(Debug, Deserialize, Serialize)]
pub struct Sums {
    number: u64,
    sets: u64,
    /// Task sets that are schedulable, by place and scheme.
    good: Vec<(u64, Scheme, u64)>,
}

impl Problem {
    /// Returns the problem whose results the measurements of an experiment need.
    pub fn new(experiment: &Experiment, settings: &Locks, quick: bool) -> Result<Self, Failure> {
        let mut places: BTreeMap<u64, BTreeSet<Scheme>> = BTreeMap::new();
        for runs in &experiment.plan.runs {
            let Measure::Schedulable(scheme) = runs.measure else { continue };
            for x in runs.places(quick) {
                let x = x.parse().map_err(|_| {
                    let text = format!("`x` of `{}`: `{x}` is no number\nhelp: give numbers and ranges such as 1-4", runs.series);
                    Failure::new("experiment", text)
                })?;
                places.entry(x).or_default().insert(scheme);
            }
        }
        Ok(Self { settings: settings.clone(), places })
    }

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

impl sets::Problem for Problem {
    type Sums = Sums;

    fn sets(&self, quick: bool) -> u64 {
        if quick { self.settings.quick_sets } else { self.settings.sets }
    }

    fn sums(&self, number: u64) -> Sums {
        let all = self.places.iter();
        let all = all.flat_map(|(x, schemes)| schemes.iter().map(|scheme| (*x, *scheme, 0)));
        Sums { number, sets: 0, good: all.collect() }
    }

    fn evaluate(&self, set: u64, sums: &mut Sums) -> Result<(), Error> {
        let mut evaluator = Evaluator::new();
        for place in sums.good.chunk_by_mut(|one, other| one.0 == other.0) {
            let x = place[0].0;
            let failed = |error| Error::Parameters(format!("`x` = {x}: {error}"));
            let system = locks::draw(&self.parameters(x), self.settings.seed, set);
            let system = system.map_err(failed)?;
            for (_, scheme, good) in place {
                let outcome = evaluator.evaluate(&system, *scheme, self.vcpu_period(x));
                *good += u64::from(outcome.map_err(failed)?.schedulable);
            }
        }
        sums.sets += 1;
        Ok(())
    }
}

impl sets::Sums for Sums {
    fn number(&self) -> u64 {
        self.number
    }

    fn add(&mut self, part: &Self) {
        self.sets += part.sets;
        for (all, part) in self.good.iter_mut().zip(&part.good) {
            all.2 += part.2;
        }
    }

    fn percent(&self, measure: &Measure, x: &str) -> Option<f64> {
        let Measure::Schedulable(scheme) = measure else { return None };
        let here = (x.parse().ok()?, *scheme);
        let (.., good) = self.good.iter().find(|it| (it.0, it.1) == here)?;
        (self.sets > 0).then(|| *good as f64 * 100.0 / self.sets as f64)
    }

    fn note(&self) -> String {
        format!("Shares are of {} task sets at each place.", self.sets)
    }
}
