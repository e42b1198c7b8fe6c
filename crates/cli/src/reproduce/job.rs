//! Jobs that cachescope has measured.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use super::experiment::Statistic;

/// A row of `jobs.csv`, as far as it is used.
#[derive(Clone, Debug, Deserialize)]
pub struct Job {
    /// The VM.
    pub vm: String,
    /// The CPU that ran it.
    pub cpu: u64,
    /// Number of the task in its marks.
    pub task: u64,
    /// When it started, by the clock of its CPU.
    pub start_ns: u64,
    /// When it was complete.
    pub finish_ns: u64,
    /// From start to finish, in time of the model.
    pub execution_ns: u64,
    /// Instructions from start to finish.
    pub instructions: u64,
    /// Misses of the job in the last-level cache.
    pub llc_misses: u64,
}

/// Reads `jobs.csv`.
pub fn read(file: &Path) -> Result<Vec<Job>, csv::Error> {
    csv::Reader::from_path(file)?.deserialize().collect()
}

/// Those jobs of a task that are in a range, counted in the order of their ends.
pub fn of_task(jobs: &[Job], vm: &str, task: u64, range: &Range<u64>) -> Vec<Job> {
    let here = jobs.iter().filter(|it| it.vm == vm && it.task == task);
    here.zip(0..).filter(|(_, index)| range.contains(index)).map(|(job, _)| job.clone()).collect()
}

/// Leaves those jobs that nobody interrupted: what interrupts takes a multiple
/// of the instructions of a job.
pub fn undisturbed(mut jobs: Vec<Job>) -> Vec<Job> {
    let least = jobs.iter().map(|job| job.instructions).min().unwrap_or(0);
    jobs.retain(|job| is_undisturbed(job, least));
    jobs
}

fn is_undisturbed(job: &Job, least_instructions: u64) -> bool {
    job.instructions <= 2 * least_instructions
}

/// Takes the time of others out of jobs that they interrupted. `others` are all jobs of one task
/// that does the same work in each: one that was interrupted itself counts as much as those
/// that were not do as a mean, since the rest of its time was somebody else's.
pub fn without(mut jobs: Vec<Job>, others: &[Job]) -> Vec<Job> {
    let typical = Spread::of(&undisturbed(others.to_vec())).map_or(0, |spread| spread.mean_ns);
    let least = others.iter().map(|job| job.instructions).min().unwrap_or(0);
    for job in &mut jobs {
        let inside = |other: &&Job| {
            other.cpu == job.cpu
                && other.start_ns >= job.start_ns
                && other.finish_ns <= job.finish_ns
        };
        let own = |other: &Job| {
            if is_undisturbed(other, least) { other.execution_ns } else { typical }
        };
        let taken: u64 = others.iter().filter(inside).map(own).sum();
        job.execution_ns = job.execution_ns.saturating_sub(taken);
    }
    jobs
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
mod tests {
    use super::*;

    fn job(vm: &str, task: u64, start_ns: u64, execution_ns: u64) -> Job {
        Job {
            vm: vm.into(),
            cpu: 0,
            task,
            start_ns,
            finish_ns: start_ns + execution_ns,
            execution_ns,
            instructions: execution_ns,
            llc_misses: execution_ns / 10,
        }
    }

    #[test]
    fn jobs_of_the_task_are_told_from_others() {
        let jobs =
            [job("a", 1, 0, 100), job("a", 2, 0, 999), job("a", 1, 0, 201), job("a", 1, 0, 777)];
        let spread = Spread::of(&of_task(&jobs, "a", 1, &(0..2))).expect("jobs");
        let expected =
            Spread { jobs: 2, min_ns: 100, mean_ns: 150, max_ns: 201, llc_misses_max: 20 };
        assert_eq!(spread, expected);
        assert_eq!(spread.take(Statistic::Mean), 150);
        assert_eq!(of_task(&jobs, "a", 1, &(2..9)).len(), 1);
        assert_eq!(Spread::of(&of_task(&jobs, "b", 1, &(0..9))), None);
    }

    #[test]
    fn interrupted_jobs_are_told_from_slow_ones() {
        let slow = Job { execution_ns: 900, ..job("a", 1, 0, 100) };
        let kept = undisturbed(vec![job("a", 1, 0, 100), slow, job("a", 1, 0, 777)]);
        assert_eq!(kept.iter().map(|job| job.execution_ns).collect::<Vec<_>>(), [100, 900]);
        assert!(undisturbed(vec![]).is_empty());
    }

    #[test]
    fn the_time_of_others_is_taken_out() {
        let elsewhere = Job { cpu: 1, ..job("a", 2, 120, 30) };
        let others = [job("a", 2, 120, 30), job("a", 2, 190, 20), elsewhere];
        let own = without(vec![job("a", 1, 100, 100)], &others);
        assert_eq!(own[0].execution_ns, 70, "one of the others lies within the job");
        let others = [job("a", 2, 120, 10), job("a", 2, 130, 20), job("a", 2, 150, 45)];
        let own = without(vec![job("a", 1, 100, 100)], &others);
        assert_eq!(own[0].execution_ns, 55, "the last one was interrupted and counts as 15");
    }
}
