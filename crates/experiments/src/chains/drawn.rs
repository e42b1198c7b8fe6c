//! Random task sets with chains, as in evaluations of cause-effect chains.

use analysis::response::{Response, Workload, response_times};
use analysis::{Duration, Task};
use policy::time::Duration as Nanos;
use sweep::Error;
use taskgen::automotive::{Automotive, CLASSES};
use taskgen::{Random, effect_chains, log_uniform, uunifast};

use crate::experiment::{Chains, Tasks};

const MS: u64 = 1_000_000;
/// Most by which the utilisation of automotive task sets may be higher than wanted.
const ABOVE: f64 = 0.01;
/// Runnables that are drawn for a task set at most.
const RUNNABLES: u32 = 100_000;
/// Chains that are drawn for one that there are enough tasks for, at most.
const TRIALS: u64 = 10_000;
/// Periods are drawn from 1 ms to here and rounded down to the next automotive one.
const LONGEST_PERIOD_MS: u64 = 2_000;

/// Tasks of a PCPU and chains of them.
#[derive(Debug)]
pub struct TaskSet {
    /// The tasks, those with the shortest periods first, which is the order of priorities.
    pub tasks: Vec<Task>,
    /// Indices of tasks, in the order of the data.
    pub chains: Vec<Vec<usize>>,
}

impl TaskSet {
    /// Draws the task set with this number, whose utilisation is `percent` percent.
    pub fn new(
        automotive: &Automotive,
        settings: &Chains,
        percent: u64,
        number: u64,
    ) -> Result<Self, Error> {
        let mut random = Random::new(settings.seed, number);
        let total = percent as f64 / 100.0;
        let mut tasks = match settings.tasks {
            Tasks::Automotive => runnables(automotive, &mut random, total)?,
            Tasks::Uniform([least, most]) => uniform(&mut random, total, least, most)?,
        };
        tasks.sort_by_key(Task::period);
        let periods: Vec<_> = tasks.iter().map(|it| Nanos(it.period().0)).collect();
        let [least, most] = settings.chains;
        let wanted = random.between(least, most) as usize;
        let drawn = (0..TRIALS).filter_map(|_| effect_chains::sample(&mut random, &periods));
        let chains = drawn.take(wanted).collect();
        Ok(Self { tasks, chains })
    }

    /// The response times of all tasks; `None` if one can be late.
    pub fn responses(&self) -> Option<Vec<Response>> {
        let responses = response_times(&Workload::new(&self.tasks));
        let responses: Option<Vec<Response>> = responses.into_iter().map(Result::ok).collect();
        let in_time = |(task, it): (&Task, &Response)| it.time <= task.deadline();
        responses.filter(|all| self.tasks.iter().zip(all).all(in_time))
    }
}

/// Each runnable is a task.
fn runnables(automotive: &Automotive, random: &mut Random, total: f64) -> Result<Vec<Task>, Error> {
    let set = automotive.set(random, total, ABOVE, RUNNABLES);
    let set = set.ok_or_else(|| Error::Parameters("no runnables fit the utilisation".into()))?;
    let task = |it: taskgen::automotive::Runnable| {
        Ok(Task::new(Duration(it.wcet.0.max(1)), Duration(it.period.0))?)
    };
    set.into_iter().map(task).collect()
}

/// UUniFast, and log-uniform periods that are rounded down to automotive ones.
fn uniform(random: &mut Random, total: f64, least: u64, most: u64) -> Result<Vec<Task>, Error> {
    let count = random.between(least, most) as usize;
    let utilizations = uunifast::sample(random, count, total)?;
    let mut tasks = Vec::new();
    for utilization in utilizations {
        let longest = Nanos(LONGEST_PERIOD_MS * MS);
        let drawn = log_uniform::sample(random, Nanos(MS), longest, Nanos(1))?;
        let fits = CLASSES.iter().rev().find(|class| class.period_ms * MS <= drawn.0);
        let period = fits.map_or(MS, |class| class.period_ms * MS);
        let wcet = Duration(((period as f64 * utilization) as u64).max(1));
        tasks.push(Task::new(wcet, Duration(period))?);
    }
    Ok(tasks)
}
