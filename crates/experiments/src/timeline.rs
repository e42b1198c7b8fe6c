//! The times at which jobs of described tasks end and have resources: simulated, executed, and simulated with the execution
//! times of an execution; and charts of that.

use std::collections::BTreeMap;
use std::path::Path;

use lab::Failure;
use lab::WholeFile;
use lab::load::{self, System};
use lab::simulate::simulate;
use trace::{Event, LockStep, Trace, gantt, perfetto, timeline};
use units::Duration;

use crate::boot::Observed;
use crate::experiment::{Experiment, How, MEAN, Measure, Moment, Of, Runs, Window};
use crate::template::expand;

const MS: u64 = 1_000_000;

impl Moment {
    /// The time in ms.
    pub fn at(
        &self,
        experiment: &Experiment,
        runs: &Runs,
        x: &str,
        seen: Option<&Observed>,
    ) -> Result<Option<f64>, Failure> {
        let mut system = system(experiment, runs)?;
        let Some(trace) = self.trace(&mut system, seen)? else { return Ok(None) };
        let task = expand(&self.task, x);
        let found = match self.of {
            Of::Response => responses(self, &system, &trace, seen),
            Of::Gets => locks(&trace, LockStep::Lock),
            Of::Releases => locks(&trace, LockStep::Unlock),
        };
        let ns = match task.as_str() {
            MEAN => {
                let sum: i64 = found.values().sum();
                (!found.is_empty()).then(|| sum as f64 / found.len() as f64)
            }
            _ => found.get(&task).map(|ns| *ns as f64),
        };
        let executed = self.boots() && self.of != Of::Response;
        let start = window(experiment).map_or(0, |it| it.start_ms) * MS;
        let start = if executed { start as f64 } else { 0.0 };
        ns.map(|ns| Some((ns - start) / MS as f64)).ok_or_else(|| {
            let file = system.file.display();
            Failure::new(
                "experiment",
                format!(
                    "{file}: the series `{}` has no job of the task `{task}`\nhelp: name a task of the description",
                    runs.series
                ),
            )
        })
    }

    fn trace(
        &self,
        system: &mut System,
        seen: Option<&Observed>,
    ) -> Result<Option<Trace>, Failure> {
        let executed = seen.and_then(|seen| seen.trace.as_ref());
        match (self.how, executed) {
            (How::Executed, Some(trace)) => Ok(Some(trace.clone())),
            (How::Replayed, Some(trace)) => Ok(Some(simulate(system, Some(trace), None, |_| ())?)),
            (How::Executed | How::Replayed, None) => Ok(None),
            (How::Simulated, _) => {
                let longest = system.description.iter().flat_map(|it| &it.vms);
                let longest = longest.flat_map(|vm| &vm.tasks).map(|task| task.period.0).max();
                let until = Some(Duration(longest.unwrap_or(MS)));
                Ok(Some(simulate(system, None, until, |_| ())?))
            }
        }
    }
}

fn system(experiment: &Experiment, runs: &Runs) -> Result<System, Failure> {
    let file = runs.system.clone().unwrap_or_default();
    let mut system = load::plan(&experiment.folder.join(file))?;
    runs.variant.apply(&mut system)?;
    Ok(system)
}

fn window(experiment: &Experiment) -> Option<&Window> {
    experiment.plan.timelines.as_ref()
}

/// The response times of first jobs in ns, by task. Guests know when jobs were to be released; in a
/// trace that is noted when the VCPU has the processor.
fn responses(
    moment: &Moment,
    system: &System,
    trace: &Trace,
    seen: Option<&Observed>,
) -> BTreeMap<String, i64> {
    let clock = trace.clock();
    let mut found = BTreeMap::new();
    for (&(vcpu, task), jobs) in &timeline::jobs(trace) {
        if trace.header.task(vcpu, task).is_some_and(|task| task.deadline_ns.is_some())
            && let Some(ticks) = jobs.first().and_then(|job| job.response())
        {
            found.insert(trace.header.task_name(vcpu, task), clock.length_ns(ticks) as i64);
        }
    }
    if let (How::Executed, Some(seen)) = (moment.how, seen) {
        let tasks = system.description.iter().flat_map(|it| &it.vms).flat_map(|vm| &vm.tasks);
        for name in tasks.map(|task| &task.name.value) {
            let line = format!("task {name} ");
            let rest = seen.console.split_once(&line).map(|(_, rest)| rest);
            let word = |word: &str| word.strip_prefix("response_max_ns=")?.parse().ok();
            let told = rest.and_then(|rest| rest.split_whitespace().find_map(word));
            found.extend(told.map(|ns| (name.clone(), ns)));
        }
    }
    found
}

/// Returns when tasks get their first resource or release it, in ns.
fn locks(trace: &Trace, wanted: LockStep) -> BTreeMap<String, i64> {
    let clock = trace.clock();
    let mut found = BTreeMap::new();
    for (_, entry) in trace.merged() {
        if let Event::Lock { vcpu, step, task, .. } = entry.event
            && step == wanted
        {
            let name = trace.header.task_name(vcpu, task);
            found.entry(name).or_insert_with(|| clock.ns(entry.ticks));
        }
    }
    found
}

/// The time lines: title and name of the file without its ending.
pub fn drawn(experiment: &Experiment) -> Vec<(&Runs, String)> {
    let mut all: Vec<(&Runs, String)> = Vec::new();
    for runs in experiment.plan.runs.iter().filter(|_| window(experiment).is_some()) {
        let is_drawn = !runs.variant.has_other_numbers()
            && matches!(&runs.measure, Measure::Moment(it) if it.is_drawn());
        if is_drawn && !all.iter().any(|(other, _)| other.series == runs.series) {
            let word =
                |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
            let name: String = runs.series.chars().map(word).collect();
            all.push((runs, name.replace("--", "-")));
        }
    }
    all
}

/// Writes the time lines as SVG and for Perfetto. `seen`: what was observed for a run.
pub fn write<'a>(
    experiment: &'a Experiment,
    folder: &Path,
    seen: impl Fn(&'a Runs) -> Option<&'a Observed>,
) -> Result<(), Failure> {
    let Some(window) = window(experiment) else { return Ok(()) };
    for (runs, file) in drawn(experiment) {
        let Measure::Moment(moment) = &runs.measure else { continue };
        let mut system = system(experiment, runs)?;
        let Some(mut trace) = moment.trace(&mut system, seen(runs))? else { continue };
        trace.header.name = runs.series.clone();
        let start = if moment.boots() { window.start_ms * MS } else { 0 };
        let until = start + window.length_ms * MS;
        let svg = gantt::svg(&trace, Some(start), Some(until));
        let svg = svg.map_err(|error| Failure::new("figure", error))?;
        let mut perfetto = Vec::new();
        let failed = |error| Failure::file("output", format!("{}: {error}", folder.display()));
        perfetto::write(&trace, &mut perfetto).map_err(failed)?;
        std::fs::create_dir_all(folder).map_err(failed)?;
        WholeFile::write(&folder.join(format!("{file}.svg")), svg.as_bytes()).map_err(failed)?;
        WholeFile::write(&folder.join(format!("{file}.pftrace")), &perfetto).map_err(failed)?;
    }
    Ok(())
}
