//! What the schemes need for one task set.

use std::collections::{BTreeMap, BTreeSet};

use analysis::utilization::Share;
use lab::Failure;
use serde::Serialize;
use sweep::allocation::{Scheme, Solver, Systems};
use taskgen::vcache::TABLE_3;

use super::Settings;

/// Task sets, and what is wanted of them.
#[derive(Debug, Serialize)]
pub struct Problem {
    settings: Settings,
    /// Numbers of colours by scheme, ascending.
    places: BTreeMap<Scheme, Vec<usize>>,
    /// Which are compared with which, and where.
    pairs: BTreeSet<(Scheme, Scheme, usize)>,
    #[serde(skip)]
    solver: Solver,
}

/// What a scheme needs by number of colours: none where it fails.
pub type Totals = BTreeMap<(Scheme, usize), Option<Share>>;

impl Problem {
    pub fn new(settings: &Settings) -> Result<Self, Failure> {
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
        Ok(Self { settings, places, pairs, solver })
    }

    /// A scheme with these numbers of colours.
    pub fn want(&mut self, scheme: Scheme, places: &[usize]) {
        let all = self.places.entry(scheme).or_default();
        all.extend(places);
        all.sort_unstable();
        all.dedup();
    }

    /// Two schemes with these numbers of colours.
    pub fn compare(&mut self, scheme: Scheme, of: Scheme, places: &[usize]) {
        self.want(scheme, places);
        self.want(of, places);
        self.pairs.extend(places.iter().map(|&k| (scheme, of, k)));
    }

    /// Which schemes are compared with which, and with how many colours.
    pub fn pairs(&self) -> impl Iterator<Item = (Scheme, Scheme, usize)> {
        self.pairs.iter().copied()
    }

    /// The schemes and their numbers of colours.
    pub fn places(&self) -> impl Iterator<Item = (Scheme, usize)> {
        self.places.iter().flat_map(|(scheme, all)| all.iter().map(|&k| (*scheme, k)))
    }

    /// What all schemes need for a task set.
    pub fn solve(&self, set: u64) -> Result<Totals, Failure> {
        let vms = self.solver.draw(self.settings.seed, set);
        let vms = vms.map_err(|error| Failure::new("experiment", error))?;
        let mut totals = Totals::new();
        for (&scheme, places) in &self.places {
            let found = self.solver.totals(scheme, &vms, places);
            let with = places.iter().zip(found);
            totals.extend(with.map(|(&k, total)| ((scheme, k), total)));
        }
        Ok(totals)
    }
}
