//! Measures an experiment: draws systems or boots machines.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use lab::{Failure, Watch};

use crate::experiment::{Experiment, Plan};
use crate::results::Results;
use crate::wanted::Wanted;
use crate::{allocation, bench, changes, folder, locks, peers, sets, timeline};

/// Measures an experiment with `jobs` threads or boots at a time; results go into a folder in `output`. Returns what was
/// finished before `watch` stopped it or something failed, and why not all was measured.
pub fn measure<'a>(
    experiment: &'a Experiment,
    quick: bool,
    jobs: NonZeroUsize,
    watch: &dyn Watch,
    output: &Path,
) -> Result<(Results<'a>, Option<Failure>), Failure> {
    let folder = output.join(&experiment.name);
    let Plan { allocation, locks, peers, .. } = &experiment.plan;
    let drawn = match (allocation, locks, peers) {
        (Some(it), ..) => {
            let problem = allocation::Problem::new(experiment, it, quick)?;
            Some(sets::run(experiment, &problem, quick, jobs, watch, &folder)?)
        }
        (None, Some(it), _) => {
            let problem = locks::Problem::new(experiment, it, quick)?;
            Some(sets::run(experiment, &problem, quick, jobs, watch, &folder)?)
        }
        (None, None, Some(it)) => {
            let problem = peers::Problem::new(experiment, it, quick)?;
            Some(sets::run(experiment, &problem, quick, jobs, watch, &folder)?)
        }
        (None, None, None) => None,
    };
    if let Some(done) = drawn {
        let values = done.values.divided(experiment.plan.divide_by.as_ref());
        let results = Results::new(experiment, values, quick, done.complete).with_note(done.note);
        return Ok((results, None));
    }
    let wanted = Wanted::new(experiment, quick);
    let instructions = match wanted.needs_bench() {
        true => bench::rows(&project()?)?,
        false => BTreeMap::new(),
    };
    let (observed, failure) = wanted.observe(&experiment.name, jobs, watch);
    let (values, lacking) = wanted.values(&observed, &instructions);
    let all = lacking.is_none() && observed.iter().all(Option::is_some);
    let values = values.divided(experiment.plan.divide_by.as_ref());
    let end = failure.or(lacking);
    timeline::write(experiment, &folder, |runs| wanted.observed(runs, &observed))?;
    let results = Results::new(experiment, values, quick, all);
    if experiment.plan.changes.is_empty() {
        return Ok((results, end));
    }
    let tasks = experiment.plan.tasks();
    let note = changes::table(&experiment.plan.changes, &results.values, &tasks);
    Ok((results.with_note(note), end))
}

/// The folder that the folder of experiments is in.
pub fn project() -> Result<PathBuf, Failure> {
    let experiments = folder::find()?;
    Ok(experiments.parent().unwrap_or(Path::new(".")).to_owned())
}
