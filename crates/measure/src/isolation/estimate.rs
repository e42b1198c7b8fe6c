//! Estimates the duration of a measurement.

use std::time::Duration;

use super::campaign::{Point, Test};
use super::leech::{Kind, Place, ROUND};
use super::measurement::Options;
use super::workload::Workload;

/// To start and end the leeches of a row, and to look where the CPUs lie.
const ROW: Duration = Duration::from_millis(150);
/// To start the victim of a test, and to find out how long its workload takes.
const TEST: Duration = Duration::from_millis(500);
/// Share of the CPU that the kernel keeps for a victim whose CPU is taken without a pause.
const SHARE_MIN: f64 = 0.05;

/// The rest of the measurement, row by row.
#[derive(Debug)]
pub(crate) struct Estimate {
    /// Seconds of each row, in the order in which they are measured.
    rows: Vec<f64>,
    /// Number of completed rows.
    done: usize,
    /// and what they have really taken.
    taken: f64,
}

impl Estimate {
    /// Returns the estimate for all contexts, with guesses for the times of workloads; a command
    /// may take any time.
    pub fn new(options: &Options) -> Self {
        let rows = options.contexts.iter().flat_map(|_| &options.tests).flat_map(|test| {
            let run = guess(&test.workload).unwrap_or_default().max(test.at_least);
            let mut rows = rows(test, run, options);
            if let Some(first) = rows.first_mut() {
                *first += TEST.as_secs_f64();
            }
            rows
        });
        Self { rows: rows.collect(), done: 0, taken: 0.0 }
    }

    /// Notes that a test begins whose runs take this time.
    pub fn test(&mut self, test: &Test, run: Duration, options: &Options) {
        for (row, seconds) in self.rows.iter_mut().skip(self.done).zip(rows(test, run, options)) {
            *row = seconds;
        }
    }

    /// Notes that the next row is complete, and took this time.
    pub fn done(&mut self, taken: Duration) {
        self.done += 1;
        self.taken += taken.as_secs_f64();
    }

    /// Returns the part that is complete, from 0 to 1.
    pub fn part(&self) -> f64 {
        let sum = |rows: &[f64]| rows.iter().sum::<f64>();
        sum(&self.rows[..self.done.min(self.rows.len())]) / sum(&self.rows).max(1e-9)
    }

    /// Returns the time that is left, if the rest exceeds its estimate by the same factor as the
    /// completed part.
    pub fn left(&self) -> Duration {
        let (done, left) = self.rows.split_at(self.done.min(self.rows.len()));
        let [thought, left] = [done, left].map(|rows| rows.iter().sum::<f64>());
        let factor = if thought > 0.0 { self.taken / thought } else { 1.0 };
        Duration::try_from_secs_f64(left * factor).unwrap_or(Duration::MAX)
    }
}

/// Returns the approximate duration of a measurement; `None` if a victim is a command.
pub fn estimate(options: &Options) -> Option<Duration> {
    let known = options.tests.iter().all(|test| guess(&test.workload).is_some());
    known.then(|| Estimate::new(options).left())
}

/// Seconds of each row of a test, of which the first has no leeches.
fn rows(test: &Test, run: Duration, options: &Options) -> Vec<f64> {
    let limit = options.time_of_row();
    let first = std::iter::once(2 * run);
    let others = test.points.iter().map(|point| pair(point, run));
    first
        .chain(others)
        .map(|pair| {
            let runs = pair * options.runs as u32;
            let least = pair * super::measurement::RUNS_MIN as u32;
            let fit = limit.map_or(runs, |limit| runs.min(limit.max(least)));
            (ROW + fit).as_secs_f64()
        })
        .collect()
}

/// Returns a run without and a run beside leeches.
fn pair(point: &Point, run: Duration) -> Duration {
    let leech = &point.leech;
    let round = if leech.sleep.is_zero() { Duration::ZERO } else { leech.sleep + ROUND };
    if leech.kind.place() == Place::Other || leech.kind != Kind::Cpu {
        return 2 * run + round / 2;
    }
    let share =
        leech.sleep.as_secs_f64() / (leech.sleep + ROUND * point.count as u32).as_secs_f64();
    run + run.div_f64(share.max(SHARE_MIN)) + round / 2
}

/// Returns a guess of how long a workload takes on a machine of today.
fn guess(workload: &Workload) -> Option<Duration> {
    let ns = match workload {
        Workload::Matrix(rows) => u64::from(*rows).pow(3),
        Workload::Chase(size) => size.0 / 64 * 20,
        Workload::Read(size) | Workload::Write(size) => size.0 / 8,
        Workload::Command(_) => return None,
    };
    Some(Duration::from_nanos(ns))
}

#[cfg(test)]
mod tests {
    use super::super::campaign::{Effort, Limits, standard, test};
    use super::super::measurement::Context;
    use super::*;

    fn options(tests: Vec<Test>, runs: usize, time: Option<Duration>) -> Options {
        Options {
            contexts: vec![Context { name: "native".into(), command: None }],
            tests,
            runs,
            time,
            tolerance: 0.03,
            victim_cpu: 1,
            leech_cpus: vec![0],
            timeout: Duration::from_secs(60),
            seed: 1,
        }
    }

    #[test]
    fn the_standard_test_takes_two_minutes() {
        let limits = Limits { llc_bytes: 32 << 20, leech_cpus: 1, memory_bytes: 1 << 33 };
        let of = |effort: Effort| {
            let options = options(standard(effort, &limits), effort.runs(), effort.time());
            estimate(&options).expect("no command").as_secs()
        };
        assert!((90..=135).contains(&of(Effort::Standard)), "{}", of(Effort::Standard));
        assert!((10..=30).contains(&of(Effort::Quick)), "{}", of(Effort::Quick));
        assert!(of(Effort::Full) > 200);
    }

    #[test]
    fn what_is_left_follows_what_was_seen() {
        let leech = "copy:1MiB".parse().expect("a leech");
        let workload: Workload = "command:true".parse().expect("a workload");
        let points = vec![Point { leech, count: 1 }; 3];
        let options = options(vec![test("own", workload, points)], 10, None);
        assert_eq!(estimate(&options), None);
        let mut estimate = Estimate::new(&options);
        estimate.test(&options.tests[0], Duration::from_secs(1), &options);
        assert_eq!(estimate.left().as_secs(), 80, "4 rows of 10 pairs");
        estimate.done(Duration::from_millis(2 * 20_150));
        assert_eq!((estimate.left().as_secs(), estimate.part()), (120, 0.25), "twice as long");
    }
}
