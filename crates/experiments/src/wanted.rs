//! The boots and readings for the values of an experiment.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use lab::cachescope::{Counts, SHORT_TURNS};
use lab::{Failure, Watch};
use sweep::family::{self, Family};

use crate::bench::{self, Tool};
use crate::boot::{Boot, Observed};
use crate::chains;
use crate::experiment::{Console, Counted, Evictions, Experiment, Jobs, Measure, Runs};
use crate::job::{self, Spread};
use crate::template::{PLACEMENT, expand};
use crate::traffic::Traffic;
use crate::values::{Absent, NoValue, Value, Values};

/// The boots that an experiment needs, each once, and for each value its boot.
#[derive(Debug)]
pub struct Wanted<'a> {
    experiment: &'a Experiment,
    boots: Vec<Boot>,
    /// Values in the order of the experiment, each with a boot for each placement.
    values: Vec<(&'a Runs, &'a str, Vec<usize>)>,
}

impl<'a> Wanted<'a> {
    /// Returns the boots and values that the experiment needs.
    pub fn new(experiment: &'a Experiment, quick: bool) -> Self {
        let (mut boots, mut values) = (Vec::<Boot>::new(), Vec::new());
        for runs in &experiment.plan.runs {
            for x in runs.places(quick) {
                let mut number = |boot: Boot| {
                    boots.iter().position(|other| *other == boot).unwrap_or_else(|| {
                        boots.push(boot);
                        boots.len() - 1
                    })
                };
                let each = runs.placements(quick);
                let each = each.filter_map(|placement| boot(experiment, runs, x, placement));
                let numbers = each.map(&mut number).collect();
                values.push((runs, x.as_str(), numbers));
            }
        }
        Self { experiment, boots, values }
    }

    /// Boots all systems, `jobs` at a time. Returns the observations, in the order of the boots, and the first failure,
    /// after which no boot was begun.
    pub fn observe(
        &self,
        name: &str,
        jobs: NonZeroUsize,
        watch: &dyn Watch,
    ) -> (Vec<Option<Observed>>, Option<Failure>) {
        watch.begin(name, "boots", self.shards());
        let numbers: Vec<u64> = (0..self.shards()).collect();
        let mut observed = vec![None; self.boots.len()];
        let keep = |number, seen| {
            observed[number as usize] = Some(seen);
            Ok(())
        };
        let shown = |finished| {
            watch.done(finished);
            watch.tick();
            !watch.stops()
        };
        let failure = family::compute(self, &numbers, jobs, keep, shown).err();
        (observed, failure)
    }

    /// Returns the observation for a run at its first place.
    pub fn observed<'o>(
        &self,
        runs: &Runs,
        observed: &'o [Option<Observed>],
    ) -> Option<&'o Observed> {
        let (.., boots) = self.values.iter().find(|(other, ..)| std::ptr::eq(*other, runs))?;
        observed.get(*boots.first()?)?.as_ref()
    }

    /// Returns the tools that count instructions for values.
    pub fn tools(&self) -> BTreeSet<Tool> {
        self.values.iter().filter_map(|(runs, ..)| Some(runs.measure.row()?.0)).collect()
    }

    /// The values of what was observed, and the first reason why one of them
    /// is not in an observation.
    pub fn values(
        &self,
        observed: &[Option<Observed>],
        instructions: &bench::Rows,
    ) -> (Values, Option<Failure>) {
        let (mut values, mut failure) = (Values::default(), None);
        for (runs, x, boots) in &self.values {
            let seen = |&boot: &usize| observed[boot].as_ref().zip(self.boots.get(boot));
            let one = |seen| value(self.experiment, runs, x, seen, instructions);
            let each: Result<Option<Vec<Measured>>, NoValue> = match boots.is_empty() {
                true => one(None).map(|it| it.map(|it| vec![it])),
                false => boots.iter().map(|boot| one(seen(boot))).collect(),
            };
            match each {
                Ok(each) => values.all.extend(each.and_then(|each| together(runs, x, &each))),
                Err(NoValue::Failed(error)) => drop(failure.get_or_insert(error)),
                Err(NoValue::Absent(why)) => {
                    let (series, x) = (runs.series.clone(), (*x).to_owned());
                    values.absent.push(Absent { series, x, why });
                }
            }
        }
        (values, failure)
    }
}

/// A shard is a boot.
impl Family for Wanted<'_> {
    type Shard = Observed;
    type Error = Failure;

    fn shards(&self) -> u64 {
        self.boots.len() as u64
    }

    fn compute(&self, number: u64, stop: &AtomicBool) -> Result<Option<Observed>, Failure> {
        self.boots[number as usize].run(stop)
    }
}

/// The value that one boot, or none, gives for a place, and the jobs that it comes from.
type Measured = (f64, Option<Spread>);

/// The value at a place out of the values of all placements.
fn together(runs: &Runs, x: &str, each: &[Measured]) -> Option<Value> {
    let (measured, spreads): (Vec<f64>, Vec<Option<Spread>>) = each.iter().copied().unzip();
    let spreads: Option<Vec<Spread>> = spreads.into_iter().collect();
    let spread = spreads.and_then(|spreads| Spread::together(&spreads));
    Value::median(runs.series.clone(), x.to_owned(), &measured, spread)
}

/// Returns the measured value for a place in one boot; `None` without an observation.
fn value(
    experiment: &Experiment,
    runs: &Runs,
    x: &str,
    seen: Option<(&Observed, &Boot)>,
    instructions: &bench::Rows,
) -> Result<Option<Measured>, NoValue> {
    Ok(Some(match (&runs.measure, seen) {
        (Measure::Jobs(jobs), Some((seen, boot))) => {
            let spread = spread(seen, runs, jobs, x, boot)?;
            (spread.take(jobs.take) as f64, Some(spread))
        }
        (Measure::Evictions(wanted), Some((seen, _))) => {
            let Some(counts) = &seen.counts else { return Ok(None) };
            (evictions(counts, wanted), None)
        }
        (Measure::Console(wanted), Some((seen, boot))) => (printed(seen, wanted, x, boot)?, None),
        (Measure::Instructions(_) | Measure::HostInstructions(_), _) => {
            let Some(row) = runs.measure.row() else { return Ok(None) };
            (instruction(instructions, row, x)?, None)
        }
        (Measure::Traffic(wanted), Some((seen, boot))) => {
            (accesses(seen, wanted, x, boot)? as f64, None)
        }
        (Measure::Allowed(allowed), _) => {
            let most = allowed.at(number(x)?);
            let why = || Failure::new("experiment", format!("`{}`: no period", runs.series));
            (most.ok_or_else(why)? as f64, None)
        }
        (Measure::Promised(promised), _) => match &runs.system {
            Some(system) => {
                (promised.read(&experiment.folder.join(system), &runs.variant, x)?, None)
            }
            None => return Ok(None),
        },
        (Measure::Chain(bound), _) => (chains::read(&experiment.plan.given, x, *bound)?, None),
        (Measure::JobByJob(offsets), _) => {
            (chains::job_by_job(&experiment.plan.given, x, *offsets)?, None)
        }
        (Measure::Moment(moment), _) => {
            match moment.at(experiment, runs, x, seen.map(|(seen, _)| seen))? {
                Some(ms) => (ms, None),
                None => return Ok(None),
            }
        }
        (
            Measure::Utilization(_)
            | Measure::Excess(_)
            | Measure::Schedulable(_)
            | Measure::Planned(_)
            | Measure::PlanningTime(_)
            | Measure::Reduction(_)
            | Measure::Length(_),
            _,
        )
        | (_, None) => {
            return Ok(None);
        }
    }))
}

fn boot(experiment: &Experiment, runs: &Runs, x: &str, placement: u64) -> Option<Boot> {
    let text = |(key, text): (&String, &String)| {
        (key.clone(), expand(text, x).replace(PLACEMENT, &placement.to_string()))
    };
    let until = match &runs.measure {
        Measure::Jobs(jobs) => jobs.until.as_ref().unwrap_or(&jobs.vm).clone(),
        Measure::Evictions(evictions) => evictions.until.clone(),
        Measure::Console(console) => console.vm.clone(),
        Measure::Traffic(traffic) => traffic.vm.clone(),
        Measure::Moment(moment) if moment.boots() => {
            let turns = SHORT_TURNS.iter().filter_map(|option| option.split_once('='));
            return Some(Boot {
                system: experiment.folder.join(runs.system.as_ref()?),
                variant: runs.variant.clone(),
                append: runs.append.iter().map(text).collect(),
                options: Some(turns.map(|(key, it)| (key.into(), it.into())).collect()),
                until: None,
                timeout: std::time::Duration::from_secs(experiment.plan.timeout_s),
            });
        }
        Measure::Instructions(_)
        | Measure::HostInstructions(_)
        | Measure::Utilization(_)
        | Measure::Excess(_)
        | Measure::Schedulable(_)
        | Measure::Planned(_)
        | Measure::PlanningTime(_)
        | Measure::Reduction(_)
        | Measure::Length(_)
        | Measure::Chain(_)
        | Measure::JobByJob(_)
        | Measure::Allowed(_)
        | Measure::Promised(_)
        | Measure::Moment(_) => return None,
    };
    Some(Boot {
        system: experiment.folder.join(runs.system.as_ref()?),
        variant: runs.variant.clone(),
        append: runs.append.iter().map(text).collect(),
        options: (!experiment.plan.plain).then(|| {
            let options = experiment
                .plan
                .cachescope
                .iter()
                .filter(|(key, _)| !runs.cachescope.contains_key(*key));
            options.chain(&runs.cachescope).map(text).collect()
        }),
        until: Some(until),
        timeout: std::time::Duration::from_secs(experiment.plan.timeout_s),
    })
}

fn spread(
    seen: &Observed,
    runs: &Runs,
    wanted: &Jobs,
    x: &str,
    boot: &Boot,
) -> Result<Spread, Failure> {
    let task = expand(&wanted.task, x);
    let number = task.parse().map_err(|_| {
        Failure::new("experiment", format!("`{task}` is no number of a task: `{}`", wanted.task))
    })?;
    let mut jobs = job::of_task(&seen.jobs, &wanted.vm, number, &runs.numbers(wanted, x));
    if wanted.undisturbed {
        jobs = job::undisturbed(jobs);
    }
    if wanted.own {
        jobs = job::own(jobs);
    }
    Spread::of(&jobs)
        .ok_or_else(|| boot.failure(&format!("it has marked no job of the task {task}")))
}

fn printed(seen: &Observed, wanted: &Console, x: &str, boot: &Boot) -> Result<f64, Failure> {
    let key = expand(&wanted.key, x);
    let number = |word: &str| word.strip_prefix(key.as_str())?.strip_prefix('=')?.parse().ok();
    let after = wanted.after.as_deref().unwrap_or_default();
    let rest = seen.console.split_once(after).map(|(_, rest)| rest);
    rest.and_then(|rest| rest.split_whitespace().find_map(number)).ok_or_else(|| {
        let place = wanted.after.iter().map(|it| format!(" after `{it}`")).collect::<String>();
        boot.failure(&format!("nothing is printed as `{key}=number`{place}"))
    })
}

fn accesses(seen: &Observed, wanted: &Traffic, x: &str, boot: &Boot) -> Result<u64, Failure> {
    let why = || boot.failure(&format!("it has marked no job of the task {}", wanted.task));
    wanted.at(number(x)?, &seen.bins, &seen.jobs).ok_or_else(why)
}

/// A place that is a number.
fn number(x: &str) -> Result<u64, Failure> {
    let why = |_| Failure::new("experiment", format!("`{x}` is no number of intervals"));
    x.parse().map_err(why)
}

fn evictions(counts: &Counts, wanted: &Evictions) -> f64 {
    let count = match wanted.count {
        Counted::AcrossVms => counts.cross_vm_evictions,
        Counted::ByHypervisor => counts.vm_evictions_by_hypervisor,
        Counted::OfHypervisor => counts.hypervisor_evictions_by_vms,
    };
    count as f64
}

fn instruction(rows: &bench::Rows, (tool, row): (Tool, &str), x: &str) -> Result<f64, Failure> {
    let (row, tool_name) = (expand(row, x), tool.name());
    let rows = rows.get(&tool);
    rows.and_then(|rows| rows.get(&row)).map(|&count| count as f64).ok_or_else(|| {
        let known: Vec<&str> = rows.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let text = format!("{tool_name} has no row `{row}`\nhelp: it has {}", known.join(", "));
        Failure::new(tool_name, text)
    })
}
