//! The times at which the jobs of tasks were complete.

use model::Model;
use serde::Serialize;
use sim::Simulation;

/// A task in a simulation. Response times are those of complete jobs.
#[derive(Clone, Debug, Serialize)]
pub struct Task {
    /// The name of its VM.
    pub vm: String,
    /// Its VCPU, as its VM counts them.
    pub vcpu: usize,
    /// Its name.
    pub task: String,
    /// Its period.
    pub period_ns: u64,
    /// Its deadline.
    pub deadline_ns: u64,
    /// Jobs that were released.
    pub releases: u64,
    /// Jobs that are complete.
    pub jobs: u64,
    /// The shortest response time, if a job is complete.
    pub response_min_ns: Option<u64>,
    /// The mean, rounded down.
    pub response_mean_ns: Option<u64>,
    /// The longest.
    pub response_max_ns: Option<u64>,
    /// Jobs that were late, those that are not complete included.
    pub missed_deadlines: u64,
}

/// The tasks of a model, in the order of its VCPUs.
pub fn tasks(model: &Model, simulation: &Simulation) -> Vec<Task> {
    let of_vcpu = |(pcpu, index, vcpu): (usize, usize, &model::Vcpu)| {
        let row = |(number, task): (usize, &model::Task)| {
            let found = simulation.task(pcpu, index, number);
            let some = |time: u64| (found.jobs > 0).then_some(time);
            let mean = found.response_sum_ns.checked_div(found.jobs.into());
            Task {
                vm: vcpu.vm_name.clone(),
                vcpu: vcpu.index,
                task: task.name.clone(),
                period_ns: task.period.0,
                deadline_ns: task.deadline.0,
                releases: found.releases,
                jobs: found.jobs,
                response_min_ns: some(found.response_min_ns),
                response_mean_ns: mean.map(|mean| mean as u64),
                response_max_ns: some(found.response_max_ns),
                missed_deadlines: found.misses + simulation.overdue(pcpu, index, number),
            }
        };
        vcpu.tasks.iter().enumerate().map(row).collect::<Vec<_>>()
    };
    model.vcpus().flat_map(of_vcpu).collect()
}
