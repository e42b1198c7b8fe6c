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

use analysis::vmpcp::budget::{Common, largest};
use analysis::vmpcp::{self, Analyzer, Host, Protocol, Section, System, Variant};
use analysis::{Duration, Kind, Server};
use serde::{Deserialize, Serialize};
use taskgen::Random;
use taskgen::vmpcp::{Parameters, TABLE_1};

use super::experiment::{Experiment, Measure};
use super::sets::{self, Drawn};
use super::values::{Value, Values};
use crate::failure::Failure;
use crate::run::signals::Signals;

/// From one budget that is tried to the next (vMPCP, section V.A).
const STEP: Duration = Duration(10_000);

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

/// How VCPUs get processor time, and which analysis judges it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    server: ServerKind,
    overrun: bool,
    analysis: Analysis,
    /// The servers whose budgets these have; default: their own, the largest that Eq. 5 allows.
    budgets: Option<ServerKind>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ServerKind {
    Periodic,
    Deferrable,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Analysis {
    /// As published.
    Published,
    /// As it holds.
    Sound,
}

impl ServerKind {
    fn kind(self) -> Kind {
        match self {
            Self::Periodic => Kind::Periodic,
            Self::Deferrable => Kind::Deferrable,
        }
    }
}

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
    signals: &Signals,
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
    let sets::Done { parts, complete, signal } =
        sets::run(&experiment.name, &problem, sets, jobs, signals, folder)?;
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
        signal,
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
        let analyzer = |variant| Analyzer::new(variant, Protocol::Vmpcp);
        let mut published = analyzer(Variant::Published);
        let mut sound = analyzer(Variant::Sound);
        let mut hosts = Vec::new();
        let mut good: BTreeMap<(u64, Scheme), u64> = BTreeMap::new();
        for set in sets.clone() {
            for (&x, schemes) in &self.places {
                if stop.load(Ordering::SeqCst) {
                    return Ok(None);
                }
                let system = self.system(set, x)?;
                for &scheme in schemes {
                    // Eq. 5 as published gives the budgets for both analyses.
                    let common = self.common(scheme, scheme.budgets.unwrap_or(scheme.server), x);
                    let budget = largest(&mut published, &system, &common, &mut hosts);
                    if let (Some(budget), Some(_)) = (budget, scheme.budgets) {
                        let server = Server::new(scheme.server.kind(), budget, common.period);
                        let server = server.map_err(|error| Failure::new("experiment", error))?;
                        hosts.fill(Host::new(server, scheme.overrun));
                    }
                    let analyzer = match scheme.analysis {
                        Analysis::Published => &mut published,
                        Analysis::Sound => &mut sound,
                    };
                    let fits = budget.is_some() && analyzer.schedulable(&system, &hosts).is_ok();
                    *good.entry((x, scheme)).or_default() += u64::from(fits);
                }
            }
        }
        let good = good.into_iter().map(|((x, scheme), count)| (x, scheme, count)).collect();
        Ok(Some(Part { number, sets: sets.end - sets.start, good }))
    }
}

impl Problem {
    /// A task set.
    fn system(&self, set: u64, x: u64) -> Result<System, Failure> {
        let failed = |error: String| Failure::new("experiment", format!("`x` = {x}: {error}"));
        let parameters = self.parameters(x);
        let drawn = parameters.sample(&mut Random::new(self.settings.seed, set));
        let drawn = drawn.map_err(|error| failed(error.to_string()))?;
        let length = Duration(parameters.section.0);
        let task = |task: &taskgen::vmpcp::Task| -> Result<vmpcp::Task, Failure> {
            let (wcet, period) = (Duration(task.wcet.0), Duration(task.period.0));
            let base = analysis::Task::new(wcet, period);
            let base = base.map_err(|error| failed(error.to_string()))?;
            let section = |&resource: &usize| Section { resource, length, inter_vm: false };
            let sections = task.mutexes.iter().map(section);
            Ok(vmpcp::Task { task: base, sections: sections.collect() })
        };
        let vcpu = |vcpu: &taskgen::vmpcp::Vcpu| -> Result<vmpcp::Vcpu, Failure> {
            let tasks = vcpu.tasks.iter().map(task).collect::<Result<_, _>>()?;
            Ok(vmpcp::Vcpu { priority: vcpu.priority, tasks })
        };
        let pcpus = drawn.iter().map(|pcpu| pcpu.iter().map(vcpu).collect::<Result<Vec<_>, _>>());
        let pcpus = pcpus.collect::<Result<Vec<_>, _>>()?;
        System::new(&pcpus).map_err(|error| failed(error.to_string()))
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

    fn common(&self, scheme: Scheme, budgets: ServerKind, x: u64) -> Common {
        const MS: u64 = 1_000_000;
        let period = match self.settings.vary {
            Vary::VcpuPeriodMs => x.saturating_mul(MS),
            _ => 5 * MS,
        };
        let kind = budgets.kind();
        Common { kind, overrun: scheme.overrun, period: Duration(period), step: STEP }
    }
}
