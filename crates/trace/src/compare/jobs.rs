//! Compares jobs of tasks.

use std::io;
use std::iter::Peekable;
use std::ops::Range;

use super::{Difference, JobSummary, TaskComparison};
use crate::timeline::{self, Jobs, TaskJobs};
use crate::{Clock, Source, Step};

/// Release and completion of a job in nanoseconds.
type Times = [Option<i64>; 2];

/// Compares the jobs of all tasks that set marks in both traces.
pub fn compare<S: Source>(
    traces: [&S; 2],
    shifts: [i64; 2],
    window: &Range<i64>,
    tolerance: u64,
) -> io::Result<(Vec<TaskComparison>, Option<Difference>)> {
    let [first, second] = [Jobs::new(traces[0])?, Jobs::new(traces[1])?];
    let clocks = [0, 1].map(|side| (traces[side].clock(), shifts[side]));
    let of_pcpu = |pcpu| [0, 1].map(|side| gaps(traces[side], pcpu, clocks[side]));
    let all_gaps: Vec<_> = (0..traces[0].pcpus()).map(of_pcpu).collect();
    let none = [Vec::new(), Vec::new()];
    let (mut tasks, mut differences) = (Vec::new(), Vec::new());
    for ((vcpu, task), jobs) in first.tasks() {
        let Some(others) = second.task((vcpu, task)) else { continue };
        let pcpu = traces[0].header().vcpu(vcpu).map_or(usize::MAX, |vcpu| vcpu.pcpu);
        let gaps = all_gaps.get(pcpu).unwrap_or(&none);
        // Simulations know deadlines always, executions where the description was at hand.
        let deadline = |trace: &S| trace.header().task(vcpu, task)?.deadline_ns;
        let deadline = traces.into_iter().find_map(deadline);
        let mut summaries = [JobSummary::default(); 2];
        let mut earliest: Option<(Rank, Difference)> = None;
        let sides = [numbered(jobs, clocks[0]), numbered(others, clocks[1])];
        for pair in Pairs(sides.map(Iterator::peekable)) {
            let (job, times) = pair?;
            for (summary, times) in summaries.iter_mut().zip(times) {
                add(summary, times.unwrap_or_default(), window, deadline);
            }
            for (at, step) in [Step::Release, Step::Finish].into_iter().enumerate() {
                let at_ns = times.map(|times| times.unwrap_or_default()[at]);
                if !differ(at_ns, gaps, window, tolerance) {
                    continue;
                }
                let difference = Difference::Job { vcpu, task, job, step, at_ns };
                let rank = (difference.at_ns(), times[0].is_none());
                if earliest.as_ref().is_none_or(|(known, _)| rank < *known) {
                    earliest = Some((rank, difference));
                }
            }
        }
        tasks.push(TaskComparison { vcpu, task, jobs: summaries });
        differences.extend(earliest.map(|(_, difference)| difference));
    }
    Ok((tasks, differences.into_iter().min_by_key(Difference::at_ns)))
}

/// The time of a difference, and whether the first trace does not have its job: of differences at
/// one time the one with the lowest is shown, and of equal ones that of the lowest number.
type Rank = (i64, bool);

/// The jobs of a task by ascending numbers. Of several with one number, because a guest was started
/// again, the last one counts.
struct Numbered<I: Iterator> {
    runs: Vec<Peekable<I>>,
    clock: Clock,
    shift: i64,
}

fn numbered(
    jobs: TaskJobs<'_>,
    (clock, shift): (Clock, i64),
) -> Numbered<impl Iterator<Item = io::Result<timeline::Job>>> {
    let runs = (0..jobs.runs()).map(|run| jobs.run(run).peekable()).collect();
    Numbered { runs, clock, shift }
}

impl<I: Iterator<Item = io::Result<timeline::Job>>> Iterator for Numbered<I> {
    type Item = io::Result<(u32, Times)>;

    fn next(&mut self) -> Option<Self::Item> {
        // An error comes first.
        let number = |run: &mut Peekable<I>| match run.peek()? {
            Ok(job) => Some(Some(job.job)),
            Err(_) => Some(None),
        };
        let lowest = self.runs.iter_mut().filter_map(number).min()?;
        let mut found = None;
        for run in &mut self.runs {
            if number(run) == Some(lowest) {
                found = run.next();
            }
        }
        let time = |ticks: Option<u64>| Some(self.clock.ns(ticks?).saturating_add(self.shift));
        Some(found?.map(|job| (job.job, [time(job.release), time(job.finish)])))
    }
}

/// The jobs of two traces with equal numbers, by ascending numbers.
struct Pairs<I: Iterator>([Peekable<I>; 2]);

impl<I: Iterator<Item = io::Result<(u32, Times)>>> Iterator for Pairs<I> {
    type Item = io::Result<(u32, [Option<Times>; 2])>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = |side: &mut Peekable<I>| match side.peek()? {
            Ok((job, _)) => Some(Some(*job)),
            Err(_) => Some(None),
        };
        let lowest = self.0.iter_mut().filter_map(number).min()?;
        let mut times = [None; 2];
        for (times, side) in times.iter_mut().zip(&mut self.0) {
            if number(side) == Some(lowest) {
                match side.next()? {
                    Ok((_, found)) => *times = Some(found),
                    Err(error) => return Some(Err(error)),
                }
            }
        }
        Some(Ok((lowest?, times)))
    }
}

/// Returns the times at which records of a PCPU were lost, in nanoseconds.
fn gaps<S: Source>(trace: &S, pcpu: usize, (clock, shift): (Clock, i64)) -> Vec<Range<i64>> {
    let time = |ticks| clock.ns(ticks).saturating_add(shift);
    let gaps = timeline::gaps(trace, pcpu).into_iter();
    gaps.map(|gap| time(gap.start)..time(gap.end)).collect()
}

/// Returns true if both times are known and apart, or one is missing at a time of which the other
/// trace has all records.
fn differ(
    at_ns: [Option<i64>; 2],
    gaps: &[Vec<Range<i64>>; 2],
    window: &Range<i64>,
    tolerance: u64,
) -> bool {
    let margin = i64::try_from(tolerance).unwrap_or(i64::MAX);
    match at_ns {
        [Some(one), Some(two)] => {
            (window.contains(&one) || window.contains(&two)) && one.abs_diff(two) > tolerance
        }
        [Some(only), None] | [None, Some(only)] => {
            // Near the ends of the window the other one may lie outside of it, near a gap in it.
            let missing = usize::from(at_ns[0].is_some());
            let is_lost = gaps[missing].iter().any(|gap| {
                gap.start.saturating_sub(margin) <= only && only <= gap.end.saturating_add(margin)
            });
            let (start, end) =
                (window.start.saturating_add(margin), window.end.saturating_sub(margin));
            start < only && only < end && !is_lost
        }
        [None, None] => false,
    }
}

fn add(summary: &mut JobSummary, times: Times, window: &Range<i64>, deadline_ns: Option<u64>) {
    if let [Some(release), Some(finish)] = times
        && window.contains(&finish)
    {
        let response = finish.abs_diff(release);
        summary.jobs += 1;
        summary.misses += u64::from(deadline_ns.is_some_and(|deadline| response > deadline));
        summary.response_max_ns = summary.response_max_ns.max(response);
        summary.response_sum_ns += u128::from(response);
    }
}
