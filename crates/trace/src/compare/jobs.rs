//! Compares jobs of tasks.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Difference, JobSummary, TaskComparison};
use crate::timeline::{self, Job};
use crate::{Step, Trace, VcpuId};

/// Release and completion of a job in nanoseconds.
type Times = [Option<i64>; 2];
/// The jobs of a task by number.
type Jobs = BTreeMap<u32, Times>;

/// Compares the jobs of all tasks that set marks in both traces.
pub fn compare(
    traces: [&Trace; 2],
    shifts: [i64; 2],
    window: &Range<i64>,
    tolerance: u64,
) -> (Vec<TaskComparison>, Option<Difference>) {
    let [first, second] = [0, 1].map(|side| times(traces[side], shifts[side]));
    let (mut tasks, mut differences) = (Vec::new(), Vec::new());
    for (&(vcpu, task), jobs) in &first {
        let Some(others) = second.get(&(vcpu, task)) else { continue };
        let sides = [jobs, others];
        let gaps = [0, 1].map(|side| gaps(traces[side], vcpu, shifts[side]));
        // Simulations know deadlines always, executions where the description was at hand.
        let deadline = |trace: &Trace| trace.header.task(vcpu, task)?.deadline_ns;
        let deadline = traces.into_iter().find_map(deadline);
        let jobs = sides.map(|jobs| summary(jobs, window, deadline));
        tasks.push(TaskComparison { vcpu, task, jobs });
        let gaps = &gaps;
        let differences_of_task = sides[0].keys().chain(sides[1].keys()).flat_map(|&job| {
            let times = sides.map(|jobs| jobs.get(&job).copied().unwrap_or_default());
            [Step::Release, Step::Finish].into_iter().enumerate().filter_map(move |(at, step)| {
                let at_ns = times.map(|times| times[at]);
                let differ = differ(at_ns, gaps, window, tolerance);
                differ.then_some(Difference::Job { vcpu, task, job, step, at_ns })
            })
        });
        differences.extend(differences_of_task.min_by_key(Difference::at_ns));
    }
    (tasks, differences.into_iter().min_by_key(Difference::at_ns))
}

fn times(trace: &Trace, shift: i64) -> BTreeMap<(VcpuId, u8), Jobs> {
    let clock = trace.clock();
    let time = |ticks: Option<u64>| Some(clock.ns(ticks?).saturating_add(shift));
    let times = |job: &Job| (job.job, [time(job.release), time(job.finish)]);
    let tasks = timeline::jobs(trace).into_iter();
    tasks.map(|(task, jobs)| (task, jobs.iter().map(times).collect())).collect()
}

/// Returns the times at which records of the VCPU's PCPU were lost, in nanoseconds.
fn gaps(trace: &Trace, vcpu: VcpuId, shift: i64) -> Vec<Range<i64>> {
    let Some(pcpu) = trace.header.vcpu(vcpu).map(|vcpu| vcpu.pcpu) else { return Vec::new() };
    let time = |ticks| trace.clock().ns(ticks).saturating_add(shift);
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

fn summary(jobs: &Jobs, window: &Range<i64>, deadline_ns: Option<u64>) -> JobSummary {
    let mut summary = JobSummary::default();
    for times in jobs.values() {
        if let &[Some(release), Some(finish)] = times
            && window.contains(&finish)
        {
            let response = finish.abs_diff(release);
            summary.jobs += 1;
            summary.misses += u64::from(deadline_ns.is_some_and(|deadline| response > deadline));
            summary.response_max_ns = summary.response_max_ns.max(response);
            summary.response_sum_ns += u128::from(response);
        }
    }
    summary
}
