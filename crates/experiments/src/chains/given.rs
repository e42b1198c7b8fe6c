//! Chains that stand in the experiment, with the response times of their tasks.

use analysis::Duration;
use analysis::chain::{Chain, Delay, EventStream, Let, Sampling, Source, Step};
use lab::Failure;

use super::becker::{Periodic, data_age, worst_data_age};
use crate::experiment::{Bound, Given, Offsets, Stage};

/// Jobs of a hyperperiod are followed one by one only if times are shorter.
const LONGEST_TIME: i64 = 100_000;
/// Most combinations of offsets that are tried; a hyperperiod is not longer.
const MOST_CASES: i64 = 1_000_000;

impl Stage {
    fn step(&self) -> Result<Step, String> {
        let Self { period, jitter, bcrt, wcrt, interval, .. } = *self;
        match (wcrt, interval) {
            (Some(wcrt), None) => {
                let releases = EventStream::periodic(Duration(period));
                let releases = releases.and_then(|it| it.with_jitter(Duration(jitter)));
                let delay = Delay::new(Duration(bcrt), Duration(wcrt));
                Ok(Step::Sampling(Sampling {
                    releases: releases.map_err(|error| error.to_string())?,
                    delay: delay.ok_or("its `wcrt` is too long, or shorter than its `bcrt`")?,
                    starts_after_writer: false,
                }))
            }
            (None, Some(interval)) if jitter == 0 => {
                let (period, interval) = (Duration(period), Duration(interval));
                Ok(Step::Let(Let { period, interval, completion: interval }))
            }
            _ => Err("say its `wcrt`, or its `interval` without `jitter`".into()),
        }
    }
}

impl Stage {
    /// The task for an analysis job by job.
    fn periodic(&self) -> Result<Periodic, String> {
        let whole = |time: u64| i64::try_from(time).ok().filter(|time| *time < LONGEST_TIME);
        let (best, worst) = match (self.wcrt, self.interval) {
            (None, Some(interval)) => (interval, interval),
            (Some(wcrt), _) => (self.bcrt, wcrt),
            (None, None) => return Err("say its `wcrt` or its `interval`".into()),
        };
        let times = whole(self.period).filter(|it| *it > 0).zip(whole(best).zip(whole(worst)));
        let (period, (best, worst)) = times
            .filter(|(_, (best, worst))| self.jitter == 0 && best <= worst)
            .filter(|_| self.offset.abs() < LONGEST_TIME)
            .ok_or("an analysis job by job needs short times and no `jitter`")?;
        Ok(Periodic { period, offset: self.offset, best, worst })
    }
}

/// The reduced data age of the chain with this name by an analysis that knows offsets.
pub fn job_by_job(chains: &[Given], name: &str, offsets: Offsets) -> Result<f64, Failure> {
    let given = find(chains, name)?;
    let tasks = given.each(name, Stage::periodic)?;
    let cases = tasks.iter().try_fold(1_i64, |all, task| all.checked_mul(task.period));
    if cases.is_none_or(|cases| cases > MOST_CASES) {
        let text = format!("chain `{name}`: the product of its periods is above {MOST_CASES}");
        return Err(Failure::new("experiment", text));
    }
    let age = match offsets {
        Offsets::Given => data_age(&tasks),
        Offsets::Worst => worst_data_age(&tasks),
    };
    let none = || Failure::new("experiment", format!("chain `{name}`: no job is reached"));
    age.map(|age| age as f64).ok_or_else(none)
}

impl Given {
    /// Returns the things that `make` makes of the tasks.
    fn each<T>(
        &self,
        name: &str,
        make: impl Fn(&Stage) -> Result<T, String>,
    ) -> Result<Vec<T>, Failure> {
        let made = self.tasks.iter().zip(1..).map(|(task, number)| {
            make(task).map_err(|error| {
                Failure::new("experiment", format!("chain `{name}`: task {number}: {error}"))
            })
        });
        made.collect()
    }
}

fn find<'a>(chains: &'a [Given], name: &str) -> Result<&'a Given, Failure> {
    let none = || Failure::new("experiment", format!("there is no [[chain]] `{name}`"));
    chains.iter().find(|it| it.name == name).ok_or_else(none)
}

/// The bound of the chain with this name, for any offsets of its tasks.
pub fn read(chains: &[Given], name: &str, bound: Bound) -> Result<f64, Failure> {
    let steps = find(chains, name)?.each(name, Stage::step)?;
    let chain = Chain::new(Source::State, steps);
    let found = chain.and_then(|chain| bound.read(&chain));
    let none = |error| Failure::new("experiment", format!("chain `{name}`: {error}"));
    found.map(|it| it.0 as f64).map_err(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tasks: &str, bound: Bound) -> Result<f64, String> {
        let chain = format!("name = 'a'\ntasks = [{tasks}]");
        let chain: Given = toml::from_str(&chain).expect(tasks);
        read(&[chain], "a", bound).map_err(|error| error.to_string())
    }

    #[test]
    fn tasks_have_response_times_or_logical_execution_times() {
        let tasks = "{ period = 10, wcrt = 5 }, { period = 20, interval = 15 }, \
                     { period = 30, jitter = 3, wcrt = 7 }";
        assert_eq!(found(tasks, Bound::DataAge), Ok(10.0 + 5.0 + 20.0 + 15.0 + 30.0 + 3.0 + 7.0));
        let reduced = 10.0 + 5.0 + 20.0 + 15.0 + 7.0;
        assert_eq!(found(tasks, Bound::ReducedDataAge), Ok(reduced));
    }

    #[test]
    fn offsets_are_those_of_the_chain_or_the_worst() {
        let age = |tasks: &str, offsets| {
            let chain: Given = toml::from_str(&format!("name = 'a'\ntasks = [{tasks}]")).unwrap();
            job_by_job(&[chain], "a", offsets).map_err(|error| error.to_string())
        };
        let tasks =
            "{ period = 10, interval = 4 }, { period = 10, offset = 4, bcrt = 1, wcrt = 2 }";
        assert_eq!(age(tasks, Offsets::Given), Ok(6.0));
        assert_eq!(age(tasks, Offsets::Worst), Ok(15.0));
        for bad in [
            "{ period = 0, wcrt = 1 }",
            "{ period = 9, bcrt = 2, wcrt = 1 }",
            "{ period = 9, jitter = 1, wcrt = 1 }",
            "{ period = 9 }",
            "{ period = 9, offset = -200000, wcrt = 1 }",
            "{ period = 2000, wcrt = 1 }, { period = 2000, wcrt = 1 }",
        ] {
            assert!(age(bad, Offsets::Given).is_err(), "{bad}");
        }
    }

    #[test]
    fn mistakes_name_chain_and_task() {
        let error = found("{ period = 5, wcrt = 1 }, { period = 5 }", Bound::DataAge).unwrap_err();
        assert!(error.contains("chain `a`: task 2: say its `wcrt`"), "{error}");
        let error = found("{ period = 5, jitter = 1, interval = 2 }", Bound::DataAge).unwrap_err();
        assert!(error.contains("task 1"), "{error}");
        assert!(found("{ period = 0, wcrt = 1 }", Bound::DataAge).is_err());
        assert!(read(&[], "b", Bound::DataAge).is_err());
    }
}
