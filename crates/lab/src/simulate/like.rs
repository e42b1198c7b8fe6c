//! The work of VCPUs in an execution, for a simulation that can be compared with it.

mod rest;

use std::collections::BTreeMap;
use std::path::Path;

use model::{Load, Model};
use trace::timeline::{self, Job, Piece};
use trace::{Clock, Trace, VcpuId};
use units::Duration;

use crate::failure::Failure;
use crate::record::read_trace;

/// Gives each task the first release and the execution times of its jobs in a trace, and
/// each VCPU with a server what else it did. The marks of a guest count the tasks of a VCPU in
/// the order of the description. Returns the length of the trace.
pub fn read(path: &Path, model: &mut Model) -> Result<Duration, Failure> {
    apply(&read_trace(path)?, &path.display().to_string(), model)
}

/// The same with a trace that was read; `name` for errors.
pub fn apply(trace: &Trace, name: &str, model: &mut Model) -> Result<Duration, Failure> {
    let clock = trace.clock();
    let jobs = timeline::jobs(trace);
    // The times of the trace contain what the hypervisor took.
    model.system.overheads = sim::Overheads::default();
    for (pcpu, vcpus) in model.pcpus.iter_mut().enumerate() {
        let pieces = timeline::pieces(trace, pcpu);
        for (vcpu, simulated) in vcpus.iter_mut().zip(&mut model.system.pcpus[pcpu].vcpus) {
            let id = VcpuId { vm: vcpu.vm as u8, vcpu: vcpu.index as u8 };
            for (task, simulated) in vcpu.tasks.iter().zip(&mut simulated.tasks) {
                let key = (id, task.number as u8);
                let known = jobs.get(&key).and_then(|jobs| {
                    let own = |piece: &Piece| (piece.vcpu, piece.task) == key;
                    let times = times(clock, jobs, &pieces, own);
                    let offset = match simulated.release {
                        sim::Release::Rung => 0,
                        sim::Release::Limited { .. } => *releases(clock, jobs).first()?,
                        _ => offset(clock, jobs, task.period)?,
                    };
                    (!times.is_empty()).then_some((offset, times))
                });
                let Some((offset, times)) = known else {
                    let (vm, task) = (&vcpu.vm_name, &task.name);
                    return Err(Failure::new(
                        "no-jobs",
                        format!(
                            "{name} has no complete job of task `{task}` of `{vm}`\n\
                             help: record a run of this system from its start, with a guest that \
                             marks its jobs"
                        ),
                    ));
                };
                simulated.offset = offset;
                simulated.release = match &simulated.release {
                    sim::Release::Rung => sim::Release::Rung,
                    sim::Release::Limited { .. } => {
                        let releases = jobs.get(&key).map(|jobs| releases(clock, jobs));
                        sim::Release::Trace(releases.into_iter().flatten().skip(1).collect())
                    }
                    _ => sim::Release::Periodic,
                };
                simulated.execution = sim::Execution::Trace(times);
            }
            if vcpu.server.is_some() {
                simulated.tasks.truncate(vcpu.tasks.len());
                let numbers = vcpu.tasks.iter().map(|task| task.number as u8).collect();
                simulated.tasks.extend(rest::task(trace, pcpu, id, numbers, &pieces));
                vcpu.load = if vcpu.tasks.is_empty() { Load::Traced } else { Load::Tasks };
            }
        }
    }
    Ok(Duration(u64::try_from(clock.ns(trace.last())).unwrap_or(0).max(1)))
}

/// Nanoseconds from the start of the servers to the first release: that of the earliest job,
/// a whole number of periods before.
fn offset(clock: Clock, jobs: &[Job], period: Duration) -> Option<u64> {
    let first = |job: &Job| {
        let periods = i64::try_from(u64::from(job.job).checked_mul(period.0)?).ok()?;
        clock.ns(job.release?).checked_sub(periods)
    };
    u64::try_from(jobs.iter().filter_map(first).min()?).ok()
}

/// Nanoseconds from the start of the servers to the releases of jobs, in ascending order.
fn releases(clock: Clock, jobs: &[Job]) -> Vec<u64> {
    let times = jobs.iter().filter_map(|job| u64::try_from(clock.ns(job.release?)).ok());
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    times
}

/// Nanoseconds for which each complete job of the task with these pieces executed.
fn times(clock: Clock, jobs: &[Job], pieces: &[Piece], own: impl Fn(&Piece) -> bool) -> Vec<u64> {
    let mut ticks: BTreeMap<u64, u64> = BTreeMap::new();
    let whole = jobs.iter().filter_map(|job| Some((job.start?, job.finish?)));
    let whole: Vec<_> = whole.collect();
    for piece in pieces.iter().filter(|piece| own(piece)) {
        let at = whole.partition_point(|(start, _)| *start <= piece.start);
        let Some((start, finish)) = at.checked_sub(1).map(|at| whole[at]) else { continue };
        if piece.end <= finish {
            *ticks.entry(start).or_default() += piece.end - piece.start;
        }
    }
    ticks.into_values().map(|ticks| clock.length_ns(ticks).max(1)).collect()
}
