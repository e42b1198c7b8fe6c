//! Experiments that allocate random task sets.
//!
//! A value is the mean of total VM utilisations over those task sets that all schemes of the
//! experiment can allocate at all places, or by how much one scheme needs more than another,
//! over those that both can allocate at that place.

mod sums;

use std::collections::{BTreeMap, BTreeSet};

use lab::Failure;
use serde::Serialize;
use sweep::Error;
use sweep::allocation::{Scheme, Solver, Systems};
use taskgen::vcache::TABLE_3;

use crate::experiment::{Allocation, Excess, Experiment, Measure};
use crate::sets;
use sums::{Sums, Totals};

/// Task sets, and the values that are wanted of them.
#[derive(Debug, Serialize)]
pub struct Problem {
    settings: Allocation,
    /// Numbers of colours by scheme, ascending.
    places: BTreeMap<Scheme, BTreeSet<usize>>,
    /// Pairs of schemes that are compared, with the number of colours.
    pairs: BTreeSet<(Scheme, Scheme, usize)>,
    #[serde(skip)]
    solver: Solver,
}

impl Problem {
    /// Returns the problem whose results the measurements of an experiment need.
    pub fn new(
        experiment: &Experiment,
        settings: &Allocation,
        quick: bool,
    ) -> Result<Self, Failure> {
        let systems = Systems {
            vms: TABLE_3.vms,
            tasks: settings.tasks,
            utilization: settings.utilization,
            vcpus: settings.vcpus,
            colors: settings.colors,
            deadline_percent: settings.deadline_percent,
            reload_us: settings.reload_us,
        };
        let solver = Solver::new(systems)
            .map_err(|error| Failure::new("experiment", format!("[allocation]: {error}")))?;
        let (settings, places, pairs) = (settings.clone(), BTreeMap::new(), BTreeSet::new());
        let mut problem = Self { settings, places, pairs, solver };
        for runs in &experiment.plan.runs {
            for x in runs.places(quick) {
                problem.want(&runs.measure, x).ok_or_else(|| {
                    let (series, colors) = (&runs.series, problem.settings.colors);
                    let text =
                        format!("`x` of `{series}`: numbers of colours are at most {colors}");
                    Failure::new("experiment", text)
                })?;
            }
        }
        Ok(problem)
    }

    /// Wants a measurement at a place; returns `None` if the cache has fewer colours than that.
    fn want(&mut self, measure: &Measure, x: &str) -> Option<()> {
        let k = x.parse().ok().filter(|k| *k <= self.settings.colors)?;
        let mut add = |scheme| self.places.entry(scheme).or_default().insert(k);
        match *measure {
            Measure::Utilization(scheme) => drop(add(scheme)),
            Measure::Excess(Excess { scheme, of, .. }) => {
                add(scheme);
                add(of);
                self.pairs.insert((scheme, of, k));
            }
            _ => (),
        }
        Some(())
    }

    /// Returns the needs of all schemes for a task set.
    fn solve(&self, set: u64) -> Result<Totals, Error> {
        let vms = self.solver.draw(self.settings.seed, set)?;
        let mut totals = Totals::new();
        for (&scheme, places) in &self.places {
            let places: Vec<usize> = places.iter().copied().collect();
            let found = self.solver.totals(scheme, &vms, &places);
            totals.extend(places.iter().zip(found).map(|(&k, total)| ((scheme, k), total)));
        }
        Ok(totals)
    }
}

impl sets::Problem for Problem {
    type Sums = Sums;

    fn sets(&self, quick: bool) -> u64 {
        if quick { self.settings.quick_sets } else { self.settings.sets }
    }

    fn sums(&self, number: u64) -> Sums {
        let places = self.places.iter();
        let places = places.flat_map(|(scheme, all)| all.iter().map(|&k| (*scheme, k)));
        Sums::new(number, places, self.pairs.iter().copied())
    }

    fn evaluate(&self, set: u64, sums: &mut Sums) -> Result<(), Error> {
        sums.count(&self.solve(set)?);
        Ok(())
    }
}
