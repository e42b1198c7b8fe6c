//! Response times of tasks, from a trace and from the messages of guests.

use std::collections::{BTreeMap, BTreeSet};

use report::proof::Responses;
use serde::Serialize;
use trace::timeline::{self, Job};
use trace::{Trace, VcpuId};

use crate::console::Known;

/// A task, as traces name it.
pub type Key = (VcpuId, u8);

/// Returns the responses of all described tasks for which there are any. A job that is not complete
/// at the end of the trace is late if its deadline has passed. A guest knows when jobs were due to
/// be released, and the trace when their VCPU then had the processor: the longer response counts. What a guest tells can only
/// make its tasks late: jobs are those of the trace.
pub fn responses(trace: &Trace, known: Option<&Known>) -> BTreeMap<Key, Responses> {
    let mut found = BTreeMap::new();
    let jobs = timeline::jobs(trace);
    for (id, vcpu) in trace.header.vcpus() {
        for (task, number) in vcpu.tasks.iter().zip(0..) {
            let Some(deadline) = task.deadline_ns else { continue };
            let mut it = jobs.get(&(id, number)).map(|jobs| traced(trace, jobs, Some(deadline)));
            let vm = known.and_then(|known| known.vms.get(usize::from(id.vm)));
            if let Some(told) = vm.and_then(|vm| vm.tasks.iter().find(|it| it.name == task.name)) {
                let all = it.get_or_insert_default();
                all.missed = all.missed.max(told.missed(Some(deadline)));
                all.max_ns = all.max_ns.max(Some(told.response_max_ns));
            }
            found.extend(it.map(|it| ((id, number), it)));
        }
    }
    found
}

/// A task of a trace, for documents.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Task {
    /// The name of its VM.
    pub vm: String,
    /// Its VCPU.
    pub vcpu: u8,
    /// Its name.
    pub task: String,
    /// Its period, if it is known.
    pub period_ns: Option<u64>,
    /// Its deadline, if it is known.
    pub deadline_ns: Option<u64>,
    /// Jobs that ended.
    pub jobs: u64,
    /// Deadlines that were missed, by jobs that did not end too, if there is a deadline.
    pub missed_deadlines: Option<u64>,
    /// The shortest response time in nanoseconds, if a job ended.
    pub response_min_ns: Option<u64>,
    /// The mean.
    pub response_mean_ns: Option<u64>,
    /// The longest.
    pub response_max_ns: Option<u64>,
}

/// All tasks that a trace names or has jobs of, with the responses that its marks tell.
pub fn tasks(trace: &Trace) -> Vec<Task> {
    let header = &trace.header;
    let jobs = timeline::jobs(trace);
    let named = header
        .vcpus()
        .flat_map(|(id, vcpu)| (0..).zip(&vcpu.tasks).map(move |(number, _)| (id, number)));
    let keys: BTreeSet<Key> = named.chain(jobs.keys().copied()).collect();
    let task = |key: Key| {
        let (id, number) = key;
        let named = header.task(id, number);
        let deadline_ns = named.and_then(|task| task.deadline_ns);
        let jobs = jobs.get(&key).map_or(&[][..], Vec::as_slice);
        let found = traced(trace, jobs, deadline_ns);
        Task {
            vm: header.vm_name(id.vm),
            vcpu: id.vcpu,
            task: header.task_name(id, number),
            period_ns: named.and_then(|task| task.period_ns),
            deadline_ns,
            jobs: found.jobs,
            missed_deadlines: deadline_ns.map(|_| found.missed),
            response_min_ns: found.times_ns.iter().min().copied(),
            response_mean_ns: mean(&found.times_ns),
            response_max_ns: found.max_ns,
        }
    };
    keys.into_iter().map(task).collect()
}

/// The mean of some times, rounded down.
pub fn mean(times_ns: &[u64]) -> Option<u64> {
    let sum = times_ns.iter().map(|&time| u128::from(time)).sum::<u128>();
    sum.checked_div(times_ns.len() as u128).map(|mean| mean as u64)
}

/// The responses of some jobs of a task. Without a deadline none misses it.
fn traced(trace: &Trace, jobs: &[Job], deadline_ns: Option<u64>) -> Responses {
    let clock = trace.clock();
    let times_ns: Vec<u64> =
        jobs.iter().filter_map(|job| Some(clock.length_ns(job.response()?))).collect();
    let overdue = jobs.iter().filter(|job| job.finish.is_none()).filter_map(|job| job.release);
    let age = |release: u64| clock.length_ns(trace.last().saturating_sub(release));
    let is_late = |time: u64| deadline_ns.is_some_and(|deadline| time > deadline);
    let overdue = overdue.filter(|&release| is_late(age(release))).count();
    let late = times_ns.iter().filter(|&&time| is_late(time)).count();
    Responses {
        jobs: times_ns.len() as u64,
        missed: (late + overdue) as u64,
        max_ns: times_ns.iter().max().copied(),
        times_ns,
    }
}
