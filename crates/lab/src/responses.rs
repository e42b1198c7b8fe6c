//! Response times of tasks, from a trace and from what guests tell.

use std::collections::BTreeMap;

use bulkhead_report::proof::Responses;
use trace::timeline::{self, Job};
use trace::{Trace, VcpuId};

use crate::console::Known;

/// A task, as traces name it.
pub type Key = (VcpuId, u8);

/// Returns the responses of all described tasks for which there are any. A job that is not complete
/// at the end of the trace is late if its deadline has passed. A guest knows when jobs were due to
/// be released, and the trace when their VCPU then had the processor: the longer response counts.
pub fn responses(trace: &Trace, known: Option<&Known>) -> BTreeMap<Key, Responses> {
    let mut found = BTreeMap::new();
    let jobs = timeline::jobs(trace);
    for (id, vcpu) in trace.header.vcpus() {
        for (task, number) in vcpu.tasks.iter().zip(0..) {
            let Some(deadline) = task.deadline_ns else { continue };
            let mut it = jobs.get(&(id, number)).map(|jobs| traced(trace, jobs, deadline));
            let vm = known.and_then(|known| known.vms.get(usize::from(id.vm)));
            if let Some(told) = vm.and_then(|vm| vm.tasks.iter().find(|it| it.name == task.name)) {
                let all = it.get_or_insert_default();
                all.jobs = all.jobs.max(told.jobs);
                all.missed = all.missed.max(told.misses);
                all.max_ns = all.max_ns.max(Some(told.response_max_ns));
            }
            found.extend(it.map(|it| ((id, number), it)));
        }
    }
    found
}

fn traced(trace: &Trace, jobs: &[Job], deadline_ns: u64) -> Responses {
    let clock = trace.clock();
    let times_ns: Vec<u64> =
        jobs.iter().filter_map(|job| Some(clock.length_ns(job.response()?))).collect();
    let overdue = jobs.iter().filter(|job| job.finish.is_none()).filter_map(|job| job.release);
    let age = |release: u64| clock.length_ns(trace.last().saturating_sub(release));
    let overdue = overdue.filter(|&release| age(release) > deadline_ns).count();
    let late = times_ns.iter().filter(|&&time| time > deadline_ns).count();
    Responses {
        jobs: times_ns.len() as u64,
        missed: (late + overdue) as u64,
        max_ns: times_ns.iter().max().copied(),
        times_ns,
    }
}
