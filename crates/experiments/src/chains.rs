//! Experiments about how long data takes through chains of tasks.
//!
//! Chains are either random ([`Problem`]), in many task sets, or stand in the experiment one by one
//! ([`Given`](crate::experiment::Given)). In both cases `analysis::chain` bounds them.

mod becker;
mod bounds;
mod distribution;
mod drawn;
mod given;

use std::collections::BTreeSet;

use lab::Failure;
use serde::{Deserialize, Serialize};
use sweep::Error;
use taskgen::automotive::Automotive;

use crate::experiment::{Bound, Chains, Experiment, Measure};
use crate::sets;
use analysis::Duration;
use distribution::Distribution;
use drawn::TaskSet;

pub use given::{job_by_job, read};

/// Thousandths of a percent.
const PERCENT: i64 = 1_000;
/// Microseconds in a millisecond, and nanoseconds in a microsecond.
const THOUSAND: i64 = 1_000;

/// Random task sets with chains.
#[derive(Debug, Serialize)]
pub struct Problem {
    settings: Chains,
    /// Utilisations in percent.
    places: BTreeSet<u64>,
    #[serde(skip)]
    automotive: Automotive,
}

/// The results for some task sets.
#[derive(Debug, Deserialize, Serialize)]
pub struct Sums {
    number: u64,
    sets: u64,
    places: Vec<Place>,
}

/// The results at a utilisation.
#[derive(Debug, Deserialize, Serialize)]
struct Place {
    percent: u64,
    /// Task sets that are left out, because a task can be late.
    late: u64,
    chains: u64,
    found: Vec<Found>,
}

/// The results for a bound.
#[derive(Debug, Deserialize, Serialize)]
struct Found {
    bound: Bound,
    /// Lengths of the bound in microseconds.
    lengths: Distribution,
    /// The part by which it is below that of Davare et al., in thousandths of a percent.
    reductions: Distribution,
}

impl Found {
    fn new(bound: Bound) -> Self {
        Self { bound, lengths: Distribution::default(), reductions: Distribution::default() }
    }

    fn add(&mut self, length: Duration, davare: Duration) {
        self.lengths.add(length.0 as i64 / THOUSAND);
        let less = i128::from(davare.0) - i128::from(length.0);
        let part = less * i128::from(100 * PERCENT);
        self.reductions.add(part.div_euclid(i128::from(davare.0.max(1))) as i64);
    }
}

impl Problem {
    /// Returns the problem whose results the measurements of an experiment need.
    pub fn new(experiment: &Experiment, settings: &Chains, quick: bool) -> Result<Self, Failure> {
        let mut places = BTreeSet::new();
        for runs in &experiment.plan.runs {
            for x in runs.places(quick) {
                let percent = x.parse().ok().filter(|x| (1..=100).contains(x));
                places.insert(percent.ok_or_else(|| {
                    let text = format!("`x` of `{}`: `{x}` is no percentage", runs.series);
                    Failure::new("experiment", text)
                })?);
            }
        }
        Ok(Self { settings: settings.clone(), places, automotive: Automotive::default() })
    }
}

impl sets::Problem for Problem {
    type Sums = Sums;

    fn sets(&self, quick: bool) -> u64 {
        if quick { self.settings.quick_sets } else { self.settings.sets }
    }

    fn sums(&self, number: u64) -> Sums {
        let none = |percent: &u64| {
            let found = Bound::ALL.map(Found::new).into();
            Place { percent: *percent, late: 0, chains: 0, found }
        };
        Sums { number, sets: 0, places: self.places.iter().map(none).collect() }
    }

    fn evaluate(&self, set: u64, sums: &mut Sums) -> Result<(), Error> {
        for place in &mut sums.places {
            let drawn = TaskSet::new(&self.automotive, &self.settings, place.percent, set)?;
            let Some(responses) = drawn.responses() else {
                place.late += 1;
                continue;
            };
            for chain in &drawn.chains {
                place.chains += 1;
                let davare = bounds::davare(&drawn, &responses, chain)?;
                for found in &mut place.found {
                    let length = bounds::of(&drawn, &responses, chain, true, found.bound)?;
                    found.add(length, davare);
                }
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
        for (all, part) in self.places.iter_mut().zip(&part.places) {
            all.late += part.late;
            all.chains += part.chains;
            for (all, part) in all.found.iter_mut().zip(&part.found) {
                all.lengths.extend(&part.lengths);
                all.reductions.extend(&part.reductions);
            }
        }
    }

    fn percent(&self, measure: &Measure, x: &str) -> Option<f64> {
        let (Measure::Reduction(taken) | Measure::Length(taken)) = measure else { return None };
        let percent: u64 = x.parse().ok()?;
        let place = self.places.iter().find(|it| it.percent == percent)?;
        let found = place.found.iter().find(|it| it.bound == taken.bound)?;
        Some(match measure {
            Measure::Length(_) => found.lengths.take(taken.take)? / THOUSAND as f64,
            _ => found.reductions.take(taken.take)? / PERCENT as f64,
        })
    }

    fn note(&self) -> String {
        let here = |it: &Place| {
            let late = match it.late {
                0 => String::new(),
                late => format!(" ({late} task sets with late tasks are left out)"),
            };
            format!("{} at {} %{late}", it.chains, it.percent)
        };
        let places: Vec<String> = self.places.iter().map(here).collect();
        format!("Chains of {} task sets: {}.", self.sets, places.join(", "))
    }
}
