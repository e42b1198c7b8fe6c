//! Jobs of a task, chosen and put together.

use std::ops::Range;

use lab::cachescope::jobs::Job;
use serde::Deserialize;

/// Returns those jobs of a task that are in a range, counted in the order of their ends.
pub fn of_task(jobs: &[Job], vm: &str, task: u64, range: &Range<u64>) -> Vec<Job> {
    let here = jobs.iter().filter(|it| it.vm == vm && it.task == task);
    here.zip(0..).filter(|(_, index)| range.contains(index)).map(|(job, _)| job.clone()).collect()
}

/// Leaves those jobs that nobody interrupted: what interrupts takes a multiple
/// of the instructions of a job.
pub fn undisturbed(mut jobs: Vec<Job>) -> Vec<Job> {
    let least = jobs.iter().map(|job| job.instructions).min().unwrap_or(0);
    jobs.retain(|job| job.instructions <= 2 * least);
    jobs
}

/// Leaves the time that the CPU did not spend in address spaces of other tasks with marks.
pub fn own(mut jobs: Vec<Job>) -> Vec<Job> {
    for job in &mut jobs {
        job.execution_ns = job.execution_ns.saturating_sub(job.others_ns);
    }
    jobs
}

/// The one of several values that counts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The least.
    Min,
    /// The mean.
    Mean,
    /// The greatest.
    Max,
}

/// Jobs of one task together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spread {
    /// Their number.
    pub jobs: u64,
    /// Shortest execution time.
    pub min_ns: u64,
    /// Mean execution time, rounded down.
    pub mean_ns: u64,
    /// Longest execution time.
    pub max_ns: u64,
    /// Most misses in the last-level cache.
    pub llc_misses_max: u64,
}

impl Spread {
    /// The jobs together; `None` if there is none.
    pub fn of(jobs: &[Job]) -> Option<Self> {
        let times = || jobs.iter().map(|job| job.execution_ns);
        Some(Self {
            jobs: jobs.len() as u64,
            min_ns: times().min()?,
            mean_ns: times().sum::<u64>() / jobs.len() as u64,
            max_ns: times().max()?,
            llc_misses_max: jobs.iter().map(|job| job.llc_misses).max()?,
        })
    }

    /// The jobs of several boots together; `None` without a boot.
    pub fn together(boots: &[Self]) -> Option<Self> {
        let jobs = boots.iter().map(|it| it.jobs).sum::<u64>();
        let time =
            boots.iter().map(|it| u128::from(it.mean_ns) * u128::from(it.jobs)).sum::<u128>();
        Some(Self {
            jobs,
            min_ns: boots.iter().map(|it| it.min_ns).min()?,
            mean_ns: u64::try_from(time.checked_div(jobs.into())?).ok()?,
            max_ns: boots.iter().map(|it| it.max_ns).max()?,
            llc_misses_max: boots.iter().map(|it| it.llc_misses_max).max()?,
        })
    }

    /// The execution time that counts.
    pub fn take(&self, statistic: Statistic) -> u64 {
        match statistic {
            Statistic::Min => self.min_ns,
            Statistic::Mean => self.mean_ns,
            Statistic::Max => self.max_ns,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A job that ran for `execution_ns`.
    pub fn job(vm: &str, task: u64, execution_ns: u64) -> Job {
        Job {
            vm: vm.into(),
            task,
            start_ns: 0,
            finish_ns: execution_ns,
            execution_ns,
            others_ns: 0,
            instructions: execution_ns,
            llc_misses: execution_ns / 10,
        }
    }

    #[test]
    fn jobs_of_the_task_are_told_from_others() {
        let jobs = [job("a", 1, 100), job("a", 2, 999), job("a", 1, 201), job("a", 1, 777)];
        let spread = Spread::of(&of_task(&jobs, "a", 1, &(0..2))).expect("jobs");
        let expected =
            Spread { jobs: 2, min_ns: 100, mean_ns: 150, max_ns: 201, llc_misses_max: 20 };
        assert_eq!(spread, expected);
        assert_eq!(spread.take(Statistic::Mean), 150);
        assert_eq!(of_task(&jobs, "a", 1, &(2..9)).len(), 1);
        assert_eq!(Spread::of(&of_task(&jobs, "b", 1, &(0..9))), None);
    }

    #[test]
    fn jobs_of_several_boots_are_put_together() {
        let boots = [[100, 200], [400, 500]]
            .map(|times| Spread::of(&times.map(|time| job("a", 1, time))).expect("jobs"));
        let all = Spread { jobs: 4, min_ns: 100, mean_ns: 300, max_ns: 500, llc_misses_max: 50 };
        assert_eq!(Spread::together(&boots), Some(all));
        assert_eq!(Spread::together(&[]), None);
    }

    #[test]
    fn interrupted_jobs_are_told_from_slow_ones() {
        let slow = Job { execution_ns: 900, ..job("a", 1, 100) };
        let kept = undisturbed(vec![job("a", 1, 100), slow, job("a", 1, 777)]);
        assert_eq!(kept.iter().map(|job| job.execution_ns).collect::<Vec<_>>(), [100, 900]);
        assert!(undisturbed(vec![]).is_empty());
    }

    #[test]
    fn the_time_of_others_is_taken_out() {
        let interrupted = Job { others_ns: 30, ..job("a", 1, 100) };
        assert_eq!(own(vec![interrupted])[0].execution_ns, 70);
    }
}
