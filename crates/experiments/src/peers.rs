//! Experiments that plan the same random systems by several methods: by the planner of this
//! project, and by methods of others ([`Peer`]).
//!
//! A value is the share of systems for which a method has a plan, or the processor time that it
//! takes. A plan counts only if the judge of `bulkhead check` accepts it. Times differ from run to
//! run; plans do not.

mod cp_sat;
mod design;
mod drawn;
mod packing;
mod periodic_resource;
mod plan;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration as Time;

use lab::Failure;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use sweep::Error;

use crate::experiment::{Experiment, Measure, Peer, Peers};
use crate::sets;
use cp_sat::Script;
use drawn::Drawn;

/// Peers by place: the utilisation in percent of all PCPUs.
#[derive(Debug, Serialize)]
pub struct Problem {
    settings: Peers,
    places: BTreeMap<u64, BTreeSet<Peer>>,
    /// The model for the solver of OR-tools; none if that is not installed.
    script: Option<Script>,
}

/// The results for some systems.
#[derive(Debug, Deserialize, Serialize)]
pub struct Sums {
    number: u64,
    systems: u64,
    found: Vec<Found>,
}

/// The results of a method at a place.
#[derive(Debug, Deserialize, Serialize)]
struct Found {
    percent: u64,
    peer: Peer,
    /// Systems with a plan that the judge accepts.
    plans: u64,
    /// Systems with a plan that the judge refuses.
    refused: u64,
    /// Processor time for all systems, in nanoseconds.
    time_ns: u64,
}

impl Problem {
    /// Returns the problem whose results the measurements of an experiment need.
    pub fn new(experiment: &Experiment, settings: &Peers, quick: bool) -> Result<Self, Failure> {
        let mut places: BTreeMap<u64, BTreeSet<Peer>> = BTreeMap::new();
        for runs in &experiment.plan.runs {
            let (Measure::Planned(peer) | Measure::PlanningTime(peer)) = runs.measure else {
                continue;
            };
            for x in runs.places(quick) {
                let x = x.parse().ok().filter(|x| (1..=100).contains(x)).ok_or_else(|| {
                    let text = format!("`x` of `{}`: `{x}` is no percentage", runs.series);
                    Failure::new("experiment", text)
                })?;
                places.entry(x).or_default().insert(peer);
            }
        }
        let script = script(experiment)?;
        Ok(Self { settings: settings.clone(), places, script })
    }
}

/// Returns the script in the folder of the experiment, if OR-tools is there for it.
fn script(experiment: &Experiment) -> Result<Option<Script>, Failure> {
    let wanted = |measure: &Measure| {
        matches!(measure, Measure::Planned(Peer::CpSat) | Measure::PlanningTime(Peer::CpSat))
    };
    if !experiment.plan.runs.iter().any(|runs| wanted(&runs.measure)) {
        return Ok(None);
    }
    let file: PathBuf = experiment.folder.join(cp_sat::FILE);
    Script::find(&file).map_err(|error| Failure::new("experiment", error))
}

impl sets::Problem for Problem {
    type Sums = Sums;

    fn sets(&self, quick: bool) -> u64 {
        if quick { self.settings.quick_sets } else { self.settings.sets }
    }

    fn sums(&self, number: u64) -> Sums {
        let all = self.places.iter().flat_map(|(x, peers)| peers.iter().map(|peer| (*x, *peer)));
        let known = all.filter(|(_, peer)| *peer != Peer::CpSat || self.script.is_some());
        let none = |(percent, peer)| Found { percent, peer, plans: 0, refused: 0, time_ns: 0 };
        Sums { number, systems: 0, found: known.map(none).collect() }
    }

    fn evaluate(&self, set: u64, sums: &mut Sums) -> Result<(), Error> {
        for place in sums.found.chunk_by_mut(|one, other| one.percent == other.percent) {
            let drawn = Drawn::new(&self.settings, place[0].percent, set)?;
            for found in place {
                let (plan, time) = self.plan(&drawn, found.peer)?;
                found.time_ns += time.as_nanos() as u64;
                match plan.map(|plan| written::holds(&drawn, &plan)) {
                    Some(true) => found.plans += 1,
                    Some(false) => found.refused += 1,
                    None => {}
                }
            }
        }
        sums.systems += 1;
        Ok(())
    }
}

impl Problem {
    /// Returns the plan of a method, and the processor time that it took.
    fn plan(&self, drawn: &Drawn, peer: Peer) -> Result<(Option<plan::Plan>, Time), Error> {
        if let (Peer::CpSat, Some(script)) = (peer, &self.script) {
            return script.plan(drawn);
        }
        let start = processor_time();
        let plan = peer.plan(drawn)?;
        Ok((plan, processor_time().saturating_sub(start)))
    }
}

fn processor_time() -> Time {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Time::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

impl sets::Sums for Sums {
    fn number(&self) -> u64 {
        self.number
    }

    fn add(&mut self, part: &Self) {
        self.systems += part.systems;
        for (all, part) in self.found.iter_mut().zip(&part.found) {
            all.plans += part.plans;
            all.refused += part.refused;
            all.time_ns += part.time_ns;
        }
    }

    fn percent(&self, measure: &Measure, x: &str) -> Option<f64> {
        let (Measure::Planned(peer) | Measure::PlanningTime(peer)) = measure else { return None };
        let percent: u64 = x.parse().ok()?;
        let found = self.found.iter().find(|it| (it.percent, it.peer) == (percent, *peer))?;
        if self.systems == 0 {
            return None;
        }
        let systems = self.systems as f64;
        Some(match measure {
            Measure::PlanningTime(_) => found.time_ns as f64 / 1e6 / systems,
            _ => found.plans as f64 * 100.0 / systems,
        })
    }

    fn note(&self) -> String {
        let mut refused: BTreeMap<Peer, u64> = BTreeMap::new();
        for found in &self.found {
            *refused.entry(found.peer).or_default() += found.refused;
        }
        let refused = refused.iter().filter(|(_, count)| **count > 0);
        let refused: Vec<String> =
            refused.map(|(peer, count)| format!("{} {count}", peer.name())).collect();
        let refused = match &refused[..] {
            [] => "The judge refused no plan.".to_owned(),
            all => format!("Plans that the judge refused: {}.", all.join(", ")),
        };
        let without = match self.found.iter().any(|it| it.peer == Peer::CpSat) {
            true => "",
            false => " OR-tools is not installed: nothing was measured of CP-SAT.",
        };
        format!(
            "Shares and means are of {} systems at each place. {refused}{without}",
            self.systems
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Peers = Peers {
        sets: 1,
        quick_sets: 1,
        seed: 1,
        vms: 3,
        vcpus: 2,
        tasks: [3, 5],
        vcpu_period_us: 2_000,
    };

    #[test]
    fn all_methods_have_plans_that_hold() {
        let peers = [Peer::Planner, Peer::Carts, Peer::Cavm];
        let peers = peers.into_iter().chain([Peer::FirstFit, Peer::BestFit, Peer::WorstFit]);
        for peer in peers {
            let mut plans = 0;
            for number in 0..4 {
                let drawn = Drawn::new(&SETTINGS, 40, number).expect("a system");
                if let Some(plan) = peer.plan(&drawn).expect("a system that can be described") {
                    assert!(written::holds(&drawn, &plan), "{} {number}: {plan:?}", peer.name());
                    plans += 1;
                }
            }
            assert!(plans > 0, "{}", peer.name());
        }
    }

    #[test]
    fn a_plan_with_less_budget_is_refused() {
        let drawn = Drawn::new(&SETTINGS, 40, 0).expect("a system");
        let mut plan = Peer::Carts.plan(&drawn).expect("a system").expect("a plan");
        plan.vcpus[0].budget_ns /= 4;
        assert!(!written::holds(&drawn, &plan));
        plan.vcpus.clear();
        assert!(!written::holds(&drawn, &plan), "tasks without VCPUs");
    }

    #[test]
    fn all_of_a_system_is_drawn() {
        for number in 0..20 {
            let drawn = Drawn::new(&SETTINGS, 90, number).expect("a system");
            let tasks = drawn.vms.iter().flatten();
            let sum: f64 = tasks.map(drawn::utilization).sum();
            assert!((sum - 3.6).abs() < 0.05, "{sum}");
        }
    }
}
