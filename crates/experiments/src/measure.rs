//! Measures an experiment: draws systems or boots machines.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use lab::{Failure, Watch};

use crate::experiment::{Experiment, Plan};
use crate::results::Results;
use crate::took::{self, Took};
use crate::wanted::Wanted;
use crate::{allocation, bench, chains, changes, folder, locks, peers, sets, timeline};

/// Measures an experiment with `jobs` threads or boots at a time; results go into a folder in `output`. Returns the results
/// that were finished before `watch` stopped it or something failed, and the reason if not all was measured.
pub fn measure<'a>(
    experiment: &'a Experiment,
    quick: bool,
    jobs: NonZeroUsize,
    watch: &dyn Watch,
    output: &Path,
) -> Result<(Results<'a>, Option<Failure>), Failure> {
    let begin = took::processor_time();
    let (mut results, boots, end) = values(experiment, quick, jobs, watch, output)?;
    if let (true, Some(boots)) = (results.complete, boots) {
        let spent = took::processor_time().zip(begin).map(|(end, begin)| end.saturating_sub(begin));
        results.took = spent.map(|it| Took { processor_s: it.as_secs(), boots });
    }
    Ok((results, end))
}

/// The results, the number of boots for them, `None` if a part is of an earlier run, and why not all was measured.
fn values<'a>(
    experiment: &'a Experiment,
    quick: bool,
    jobs: NonZeroUsize,
    watch: &dyn Watch,
    output: &Path,
) -> Result<(Results<'a>, Option<u64>, Option<Failure>), Failure> {
    let folder = output.join(&experiment.name);
    let Plan { allocation, locks, peers, chains, .. } = &experiment.plan;
    let drawn = match (allocation, locks, peers, chains) {
        (Some(it), ..) => {
            let problem = allocation::Problem::new(experiment, it, quick)?;
            Some(sets::run(experiment, &problem, quick, jobs, watch, &folder)?)
        }
        (None, Some(it), ..) => {
            let problem = locks::Problem::new(experiment, it, quick)?;
            Some(sets::run(experiment, &problem, quick, jobs, watch, &folder)?)
        }
        (None, None, Some(it), _) => {
            let problem = peers::Problem::new(experiment, it, quick)?;
            Some(sets::run(experiment, &problem, quick, jobs, watch, &folder)?)
        }
        (None, None, None, Some(it)) => {
            let problem = chains::Problem::new(experiment, it, quick)?;
            Some(sets::run(experiment, &problem, quick, jobs, watch, &folder)?)
        }
        (None, None, None, None) => None,
    };
    if let Some(done) = drawn {
        let values = done.values.divided(experiment.plan.divide_by.as_ref());
        let results = Results::new(experiment, values, quick, done.complete).with_note(done.note);
        return Ok((results, (!done.resumed).then_some(0), None));
    }
    let wanted = Wanted::new(experiment, quick);
    let rows = |tool: bench::Tool| Ok((tool, tool.rows(&project()?)?));
    let instructions = wanted.tools().into_iter().map(rows).collect::<Result<_, Failure>>()?;
    let (observed, failure) = wanted.observe(&experiment.name, jobs, watch);
    let (values, lacking) = wanted.values(&observed, &instructions);
    let boots = observed.len() as u64;
    let all = lacking.is_none() && observed.iter().all(Option::is_some);
    let values = values.divided(experiment.plan.divide_by.as_ref());
    let end = failure.or(lacking);
    timeline::write(experiment, &folder, |runs| wanted.observed(runs, &observed))?;
    let results = Results::new(experiment, values, quick, all);
    if experiment.plan.changes.is_empty() {
        return Ok((results, Some(boots), end));
    }
    let tasks = experiment.plan.tasks();
    let note = changes::table(&experiment.plan.changes, &results.values, &tasks);
    Ok((results.with_note(note), Some(boots), end))
}

/// The folder that the folder of experiments is in.
pub fn project() -> Result<PathBuf, Failure> {
    let experiments = folder::find()?;
    Ok(experiments.parent().unwrap_or(Path::new(".")).to_owned())
}
