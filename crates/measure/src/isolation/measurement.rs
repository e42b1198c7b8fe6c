//! Measures.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::Error;
use super::campaign::{Point, Test};
use super::coefficient::{Coefficient, Times, Verdict};
use super::estimate::Estimate;
use super::leech::{Kind, Leech, Place, ROUND};
use super::machine::Machine;
use super::placement::distance_ns;
use super::process::Process;
use super::protection;
use super::result::{ContextResult, Report, Row, Sample, TestResult};
use super::worker::{Order, Role};
use crate::statistics::median;

/// A place where victims run.
#[derive(Clone, Debug)]
pub struct Context {
    /// Name of the context.
    pub name: String,
    /// A shell command that takes the place of this program there; without one, victims are started
    /// on this machine.
    pub command: Option<String>,
}

/// Options of a measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// The places where victims run.
    pub contexts: Vec<Context>,
    /// The tests.
    pub tests: Vec<Test>,
    /// Most runs for a median.
    pub runs: usize,
    /// The time that the number of runs is fitted to, if it is.
    pub time: Option<Duration>,
    /// I of a victim that is isolated is at most this.
    pub tolerance: f64,
    /// The victim's CPU.
    pub victim_cpu: usize,
    /// CPUs of leeches.
    pub leech_cpus: Vec<usize>,
    /// A run that takes longer is an error.
    pub timeout: Duration,
    /// Order of what is random.
    pub seed: u64,
}

impl Options {
    /// Returns the time that a row may take, if there is a limit.
    pub(crate) fn time_of_row(&self) -> Option<Duration> {
        let rows = self.tests.iter().map(|test| test.points.len() + 1).sum::<usize>();
        let rows = (rows * self.contexts.len()).max(1);
        self.time.map(|time| time / rows as u32)
    }
}

/// The progress of a measurement.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Part that is done, from 0 to 1.
    pub part: f64,
    /// The current row.
    pub what: String,
    /// About the time that is left.
    pub left: Duration,
}

/// Fewest runs for a median, however little time there is.
pub(crate) const RUNS_MIN: usize = 5;
/// Waiting before a run that a leech has begun.
const SETTLE: Duration = Duration::from_millis(2);
/// A run that waited for more than a hundredth of its time was interrupted.
const WAIT_SHARE: u64 = 100;
/// More than the longest run: processes end after this time if nothing ends them.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// Builds the command of a process with these options; `None` is this program.
pub trait Launch {
    /// Returns the command for a process here, or in a context.
    fn command(&self, context: Option<&str>, role: &Role, cpu: usize, life: Duration) -> Command;
}

/// Measures all tests in all contexts. `progress` is called with the progress; if it returns false,
/// the measurement ends with the results so far.
///
/// # Errors
///
/// A process cannot do its work.
pub fn measure(
    options: &Options,
    launch: &dyn Launch,
    progress: &mut dyn FnMut(&Progress) -> bool,
    ended: &dyn Fn() -> bool,
) -> Result<Report, Error> {
    let start = Instant::now();
    // Without it, what is measured can keep who measures from running.
    let mut remarks = BTreeSet::new();
    remarks.extend(protection::raise(protection::CONTROL).err());
    let mut it = Measurement {
        options,
        launch,
        ended,
        remarks,
        random: fastrand::Rng::with_seed(options.seed),
        estimate: Estimate::new(options),
        progress,
    };
    let (mut contexts, mut complete) = (Vec::new(), true);
    for context in &options.contexts {
        let (mut tests, mut open) = (Vec::new(), true);
        for test in &options.tests {
            match it.test(context, test) {
                Ok((result, whole)) => {
                    tests.push(result);
                    open = whole;
                }
                Err(Error::Ended) => open = false,
                Err(error) => return Err(error),
            }
            if !open {
                break;
            }
        }
        let rows = tests.iter().flat_map(|test: &TestResult| &test.rows);
        contexts.push(ContextResult {
            name: context.name.clone(),
            command: context.command.clone(),
            verdict: Verdict::all(rows.filter_map(|row| row.verdict)),
            tests,
        });
        complete &= open;
        if !open {
            break;
        }
    }
    let found = Verdict::all(contexts.iter().map(|context| context.verdict));
    // What is left out could be anything.
    let open = !complete && found == Verdict::Isolated;
    Ok(Report {
        verdict: if open { Verdict::CannotTell } else { found },
        tolerance: options.tolerance,
        machine: Machine::here(options.victim_cpu),
        remarks: it.remarks.into_iter().collect(),
        complete,
        seconds: start.elapsed().as_secs_f64(),
        contexts,
    })
}

struct Measurement<'a> {
    options: &'a Options,
    launch: &'a dyn Launch,
    ended: &'a dyn Fn() -> bool,
    remarks: BTreeSet<String>,
    random: fastrand::Rng,
    estimate: Estimate,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
}

impl Measurement<'_> {
    /// Returns a test, and whether it is whole.
    fn test(&mut self, context: &Context, test: &Test) -> Result<(TestResult, bool), Error> {
        let role = Role::Victim { workload: test.workload.clone(), at_least: test.at_least };
        let command = self.launch.command(
            context.command.as_deref(),
            &role,
            self.options.victim_cpu,
            LIFETIME,
        );
        let name = match &context.command {
            Some(command) => format!("context {} (`{command}`)", context.name),
            None => format!("victim {}", test.workload),
        };
        let mut victim = Process::start(name, command, self.options.timeout, self.ended)?;
        self.remarks.extend(victim.protection.missing.iter().map(|why| format!("victim: {why}")));
        self.remarks.extend(victim.uncounted.iter().map(|why| format!("unavailable: {why}")));
        self.estimate.test(test, victim.run_time, self.options);
        let mut result = TestResult {
            name: test.name.clone(),
            workload: test.workload.to_string(),
            repeats: victim.repeats,
            victim: victim.protection.clone(),
            rows: Vec::new(),
        };
        // The baseline beside the baseline, in the place of the first leech.
        let place = test.points.first().map_or(Place::Other, |point| point.leech.kind.place());
        let null = Point { leech: Leech::tireless(Kind::None), count: 1 };
        let first = (&null, place);
        let others = test.points.iter().map(|point| (point, point.leech.kind.place()));
        let mut noise = 0.0;
        for (point, place) in std::iter::once(first).chain(others) {
            let now = Progress {
                part: self.estimate.part(),
                what: match (result.rows.len(), point.count) {
                    (0, _) => format!("{}: {} beside nothing", context.name, test.name),
                    (_, 1) => format!("{}: {} beside {}", context.name, test.name, point.leech),
                    (_, count) => {
                        format!("{}: {} beside {count} x {}", context.name, test.name, point.leech)
                    }
                },
                left: self.estimate.left(),
            };
            if !(self.progress)(&now) {
                return Ok((result, false));
            }
            let begun = Instant::now();
            match self.row(&mut victim, point, place) {
                Ok(mut row) => {
                    if result.rows.is_empty() {
                        noise = row.coefficient.low.abs().max(row.coefficient.high.abs());
                    } else {
                        let tolerance = self.options.tolerance;
                        row.verdict = Some(Verdict::of(&row.coefficient, tolerance, noise));
                    }
                    result.rows.push(row);
                }
                Err(Error::Ended) => return Ok((result, false)),
                Err(error) => return Err(error),
            }
            self.estimate.done(begun.elapsed());
        }
        Ok((result, true))
    }

    fn row(&mut self, victim: &mut Process, point: &Point, place: Place) -> Result<Row, Error> {
        let options = self.options;
        let cpus: Vec<usize> = match (point.leech.kind, place) {
            (Kind::None, Place::Same) => Vec::new(),
            (_, Place::Same) => vec![options.victim_cpu; point.count],
            (_, Place::Other) => {
                options.leech_cpus.iter().copied().cycle().take(point.count).collect()
            }
        };
        let distance = || distance_ns(options.victim_cpu, *options.leech_cpus.first()?);
        let before = distance();
        let mut leeches = Vec::new();
        for cpu in &cpus {
            let role = Role::Leech(point.leech.clone());
            let command = self.launch.command(None, &role, *cpu, LIFETIME);
            let name = format!("leech {}", point.leech);
            let leech = Process::start(name, command, options.timeout, self.ended)?;
            self.remarks.extend(leech.protection.missing.iter().map(|why| format!("leech: {why}")));
            leeches.push(leech);
        }
        let samples = self.samples(victim, &mut leeches, point, place)?;
        drop(leeches);
        Ok(row(point, cpus, [before, distance()], samples))
    }

    /// Runs in pairs, of which every second one begins with the loaded run.
    fn samples(
        &mut self,
        victim: &mut Process,
        leeches: &mut [Process],
        point: &Point,
        place: Place,
    ) -> Result<Vec<Sample>, Error> {
        // Runs of victims whose CPU is taken are interrupted: that is what is measured.
        let taken = place == Place::Same && point.leech.kind != Kind::None;
        // A round of a leech that sleeps is hit at any of its parts.
        let round = match point.leech.sleep {
            Duration::ZERO => Duration::ZERO,
            sleep => sleep + ROUND,
        };
        let (begun, mut samples) = (Instant::now(), Vec::new());
        let limit = self.options.time_of_row();
        let (mut good, mut pairs) = (0, 0);
        let runs = self.options.runs;
        // Pairs in place of disturbed ones, where these are the exception.
        while good < runs && (pairs < runs || pairs < runs * 3 / 2 && 2 * good >= pairs) {
            let late = limit.is_some_and(|limit| begun.elapsed() >= limit);
            if late && pairs >= RUNS_MIN {
                break;
            }
            let first = pairs % 2 == 1;
            let mut undisturbed = true;
            for loaded in [first, !first] {
                let order = if loaded { Order::Take } else { Order::Rest };
                for leech in &mut *leeches {
                    leech.leech(order, self.ended)?;
                }
                let part = if loaded { self.random.f64() } else { 0.0 };
                thread::sleep(SETTLE + round.mul_f64(part));
                let run = victim.run(self.ended)?;
                let waited = run.waited_ns > run.time_ns / WAIT_SHARE;
                let disturbed = !(taken && loaded) && (run.preemptions > 0 || waited);
                undisturbed &= !disturbed;
                samples.push(Sample { loaded, disturbed, run });
            }
            good += usize::from(undisturbed);
            pairs += 1;
        }
        Ok(samples)
    }
}

/// Returns the row for the samples.
fn row(point: &Point, cpus: Vec<usize>, distance: [Option<f64>; 2], samples: Vec<Sample>) -> Row {
    let of = |loaded: bool| -> Vec<&Sample> {
        let all: Vec<&Sample> = samples.iter().filter(|it| it.loaded == loaded).collect();
        let good: Vec<&Sample> = all.iter().copied().filter(|it| !it.disturbed).collect();
        // Where most are disturbed they are what there is.
        if most_are_disturbed(&all) { all } else { good }
    };
    let all_count = [false, true].into_iter().any(|loaded| {
        let of: Vec<&Sample> = samples.iter().filter(|it| it.loaded == loaded).collect();
        most_are_disturbed(&of)
    });
    let times = |samples: &[&Sample]| -> Vec<u64> {
        samples.iter().map(|sample| sample.run.time_ns).collect()
    };
    let misses = |samples: &[&Sample]| {
        let counts: Option<Vec<f64>> =
            samples.iter().map(|it| it.run.counts.llc_misses.map(|count| count as f64)).collect();
        counts.map(median)
    };
    let (baseline, loaded) = (of(false), of(true));
    Row {
        leech: point.leech.to_string(),
        leeches: cpus.len(),
        size_bytes: point.leech.kind.size().map(|size| size.0),
        sleep_ms: point.leech.sleep.as_millis() as u64,
        leech_cpus: cpus,
        distance_ns: distance,
        baseline: Times::of(&times(&baseline)),
        loaded: Times::of(&times(&loaded)),
        coefficient: Coefficient::of(&times(&baseline), &times(&loaded)),
        verdict: None,
        llc_misses: [misses(&baseline), misses(&loaded)],
        disturbed: samples.iter().filter(|sample| sample.disturbed).count(),
        all_count,
        samples,
    }
}

fn most_are_disturbed(samples: &[&Sample]) -> bool {
    2 * samples.iter().filter(|sample| sample.disturbed).count() > samples.len()
}

#[cfg(test)]
mod tests {
    use super::super::counters::Counts;
    use super::super::worker::Run;
    use super::*;

    fn sample(loaded: bool, time_ns: u64, disturbed: bool, counts: Counts) -> Sample {
        let run = Run { time_ns, preemptions: 0, waited_ns: 0, cpu: 0, counts };
        Sample { loaded, disturbed, run }
    }

    fn row_of(samples: Vec<Sample>) -> Row {
        let point = Point { leech: Leech::tireless(Kind::None), count: 1 };
        row(&point, vec![1], [None; 2], samples)
    }

    #[test]
    fn disturbed_runs_count_where_most_are_and_the_row_says_so() {
        let run = |loaded, ns, disturbed| sample(loaded, ns, disturbed, Counts::default());
        let quiet = |loaded| vec![run(loaded, 100, false), run(loaded, 102, false)];
        let few = row_of([quiet(false), quiet(true), vec![run(true, 900, true)]].concat());
        assert_eq!((few.loaded.max_ns, few.disturbed, few.all_count), (102, 1, false));
        let loud = vec![run(true, 900, true), run(true, 901, true), run(true, 90, false)];
        let most = row_of([quiet(false), loud].concat());
        assert_eq!((most.loaded.max_ns, most.disturbed, most.all_count), (901, 2, true));
    }

    /// A counter that had to share its time with others in one run has no median.
    #[test]
    fn misses_count_where_every_run_has_them() {
        let sample = |loaded: bool, llc_misses: Option<u64>| {
            sample(loaded, 100, false, Counts { llc_misses, ..Counts::default() })
        };
        let samples = vec![
            sample(false, Some(10)),
            sample(true, Some(30)),
            sample(true, None),
            sample(false, Some(20)),
        ];
        let row = row_of(samples);
        assert_eq!(row.llc_misses, [Some(15.0), None]);
        assert_eq!(row.coefficient.value, 0.0);
    }
}
