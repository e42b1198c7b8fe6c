//! Compares two traces of a system: an execution and its simulation.
//!
//! Times count from the start of the servers' first period. Two traces agree on a PCPU while it
//! runs the same VCPU in both, or none. They differ where this is not the case for longer than a
//! tolerance: the time of a switch in the hypervisor shows as many short differences, a wrong
//! decision as a long one. Jobs agree if they are released and complete at the same times, up to
//! the tolerance. PCPUs that belong to one VCPU alone are left out, because nothing is decided
//! there.

mod jobs;
mod pcpu;

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

use serde::Serialize;

use crate::timeline::{self, State};
use crate::{Header, ReadError, Source, Step, VcpuId};
use pcpu::Uses;

/// Options of a comparison.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// Differences of this length are none.
    pub tolerance_ns: u64,
    /// Only from then on, if given.
    pub from_ns: Option<i64>,
    /// Only until then, if given.
    pub until_ns: Option<i64>,
    /// Added to the times of the second trace.
    pub shift_ns: i64,
}

/// The reason why two traces cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// They are traces of different systems.
    #[error("they are traces of different systems: {0}")]
    Systems(String),
    /// No time is in both.
    #[error("they have no time in common: {first_ns:?} ns and {second_ns:?} ns")]
    Times {
        /// Times of the first one.
        first_ns: Range<i64>,
        /// Times of the second one.
        second_ns: Range<i64>,
    },
    /// A trace cannot be read.
    #[error("a trace cannot be read to its end: {0}")]
    Read(#[from] ReadError),
    /// There is no room for the jobs.
    #[error("jobs cannot be kept in a temporary file: {0}")]
    Jobs(#[from] io::Error),
}

/// A difference between two traces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Difference {
    /// A PCPU does not do the same.
    Pcpu {
        /// The PCPU.
        pcpu: usize,
        /// The time for which they differ without a break.
        from_ns: i64,
        /// Its end.
        until_ns: i64,
        /// State of the PCPU at the start of the difference, in both traces.
        states: [State; 2],
    },
    /// An event of a job is at another time, or in one trace only.
    Job {
        /// The VCPU.
        vcpu: VcpuId,
        /// The task.
        task: u8,
        /// Number of the job.
        job: u32,
        /// The event.
        step: Step,
        /// Time of the event, in both traces.
        at_ns: [Option<i64>; 2],
    },
}

impl Difference {
    /// Returns the time at which the difference begins.
    pub fn at_ns(&self) -> i64 {
        match self {
            Self::Pcpu { from_ns, .. } => *from_ns,
            Self::Job { at_ns, .. } => at_ns.iter().flatten().min().copied().unwrap_or(0),
        }
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Comparison {
    /// The time that was compared.
    pub window_ns: Range<i64>,
    /// The first difference.
    pub first: Option<Difference>,
    /// The PCPUs that were compared.
    pub pcpus: Vec<PcpuComparison>,
    /// All VCPUs.
    pub vcpus: Vec<VcpuComparison>,
    /// All tasks that set marks.
    pub tasks: Vec<TaskComparison>,
}

impl Comparison {
    /// Returns the length of the time that was compared, in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.window_ns.end.abs_diff(self.window_ns.start)
    }
}

/// A PCPU in two traces.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct PcpuComparison {
    /// The PCPU.
    pub pcpu: usize,
    /// Total time in which the PCPU runs different VCPUs in the traces.
    pub differs_ns: u64,
    /// Longest time without a break for which it does not do the same.
    pub longest_ns: u64,
    /// Time for which a trace does not show the state of the PCPU.
    pub unknown_ns: u64,
}

/// A VCPU in two traces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct VcpuComparison {
    /// The VCPU.
    pub vcpu: VcpuId,
    /// Time that the VCPU runs, in both traces.
    pub supply_ns: [u64; 2],
    /// Number of times that the VCPU begins to run, in both traces.
    pub runs: [u64; 2],
    /// Use of its budget, in both traces, if the VCPU has a budget.
    pub usage: Option<[Usage; 2]>,
}

/// The time that a VCPU ran in whole periods of its server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Number of periods.
    pub periods: u64,
    /// Longest time in one of them.
    pub max_ns: u64,
    /// Time in all of them.
    pub sum_ns: u64,
}

/// A task in two traces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TaskComparison {
    /// The VCPU.
    pub vcpu: VcpuId,
    /// The task.
    pub task: u8,
    /// Its jobs, in both.
    pub jobs: [JobSummary; 2],
}

/// Jobs that complete.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JobSummary {
    /// Number of jobs.
    pub jobs: u64,
    /// Number of jobs that completed after their deadline.
    pub misses: u64,
    /// Longest time from release to completion.
    pub response_max_ns: u64,
    /// Sum of these times.
    pub response_sum_ns: u128,
}

impl Usage {
    /// Returns the mean of the times, rounded down; 0 without a period.
    pub fn mean_ns(&self) -> u64 {
        self.sum_ns.checked_div(self.periods).unwrap_or(0)
    }
}

impl JobSummary {
    /// Returns the mean of the times from release to completion, rounded down; 0 without a job.
    pub fn response_mean_ns(&self) -> u64 {
        let mean = self.response_sum_ns.checked_div(u128::from(self.jobs)).unwrap_or(0);
        u64::try_from(mean).unwrap_or(u64::MAX)
    }
}

/// Compares two traces.
pub fn compare<S: Source>(traces: [&S; 2], options: Options) -> Result<Comparison, CompareError> {
    let headers = traces.map(|trace| trace.header());
    same_system(headers)?;
    let shifts = [0, options.shift_ns];
    let times = [0, 1].map(|side| {
        let (trace, clock) = (traces[side], traces[side].clock());
        let time = |ticks| clock.ns(ticks).saturating_add(shifts[side]);
        time(trace.first())..time(trace.last())
    });
    let [first, second] = &times;
    let start = first.start.max(second.start).max(options.from_ns.unwrap_or(i64::MIN));
    let end = first.end.min(second.end).min(options.until_ns.unwrap_or(i64::MAX));
    if start >= end {
        let [first_ns, second_ns] = times;
        return Err(CompareError::Times { first_ns, second_ns });
    }
    let window = start..end;
    let tolerance = options.tolerance_ns;

    let shared = headers.map(shared_pcpus);
    let mut differences = Vec::new();
    let mut pcpus = Vec::new();
    let mut vcpus: Vec<_> = headers[0]
        .vcpus()
        .map(|(vcpu, _)| VcpuComparison { vcpu, supply_ns: [0; 2], runs: [0; 2], usage: None })
        .collect();
    for pcpu in 0..headers[0].pcpus {
        let periods = headers[0].vcpus().map(|(vcpu, _)| period(headers[0], vcpu, pcpu));
        let mut uses = Uses::new(&mut vcpus, periods, &window);
        let spans = [0, 1].map(|side| {
            let (clock, shift) = (traces[side].clock(), shifts[side]);
            let spans = timeline::spans_of(traces[side], pcpu);
            pcpu::within(spans, clock, shift, window.clone())
        });
        let (comparison, difference) = pcpu::compare(pcpu, spans, tolerance, &mut uses);
        uses.finish();
        if shared.iter().all(|shared| shared.contains(&pcpu)) {
            pcpus.push(comparison);
            differences.extend(difference);
        }
    }
    let (tasks, difference) = jobs::compare(traces, shifts, &window, tolerance)?;
    differences.extend(difference);
    for trace in traces {
        trace.check()?;
    }
    let first = differences.into_iter().min_by_key(Difference::at_ns);
    Ok(Comparison { window_ns: window, first, pcpus, vcpus, tasks })
}

/// Returns the period of the server of a VCPU on a PCPU.
fn period(header: &Header, vcpu: VcpuId, pcpu: usize) -> Option<u64> {
    let vcpu = header.vcpu(vcpu).filter(|vcpu| vcpu.pcpu == pcpu)?;
    vcpu.server.as_ref()?.period_ns.filter(|&period| period > 0)
}

/// PCPUs on which VCPUs have servers.
fn shared_pcpus(header: &Header) -> BTreeSet<usize> {
    let vcpus = header.vcpus().filter(|(_, vcpu)| vcpu.server.is_some());
    vcpus.map(|(_, vcpu)| vcpu.pcpu).collect()
}

/// Checks that the systems have the same VMs with the same VCPUs.
fn same_system([first, second]: [&Header; 2]) -> Result<(), CompareError> {
    let names = |header: &Header| {
        let vms = header.vms.iter().map(|vm| format!("{} ({} VCPUs)", vm.name, vm.vcpus.len()));
        vms.collect::<Vec<_>>().join(", ")
    };
    let (first_names, second_names) = (names(first), names(second));
    if first_names != second_names {
        let what = format!("one has the VMs {first_names}, the other {second_names}");
        return Err(CompareError::Systems(what));
    }
    for ((id, vcpu), (_, other)) in first.vcpus().zip(second.vcpus()) {
        if vcpu.pcpu != other.pcpu {
            let (name, pcpus) = (first.vcpu_name(id), (vcpu.pcpu, other.pcpu));
            let what =
                format!("VCPU {name} is on PCPU {} in one, {} in the other", pcpus.0, pcpus.1);
            return Err(CompareError::Systems(what));
        }
    }
    Ok(())
}
