//! Random systems for tests.

use analysis::Duration;
use planner::{Slot, Task, Vm, rate_monotonic};
use taskgen::Random;
use taskgen::vcache::Parameters;

/// The VMs of a random system, with so many VCPUs each; deadlines are `deadline` percent of
/// the periods, but not below the execution time with one colour.
pub fn vms(parameters: &Parameters, set: u64, vcpus: usize, deadline: u64) -> Vec<Vm> {
    let drawn = parameters.sample(&mut Random::new(2017, set)).unwrap();
    let vm = |vm: taskgen::vcache::Vm| {
        let task = |task: taskgen::vcache::Task| {
            let wcet: Vec<_> = task.wcet.iter().map(|time| Duration(time.0)).collect();
            let deadline = (task.period.0 * deadline / 100).max(wcet[0].0);
            let base = analysis::Task::new(wcet[0], Duration(task.period.0)).unwrap();
            let base = base.with_deadline(Duration(deadline)).unwrap();
            Task::new(base, &wcet).unwrap().with_working_set(task.working_set)
        };
        let mut tasks: Vec<Task> = vm.tasks.into_iter().map(task).collect();
        rate_monotonic(&mut tasks);
        Vm::new(tasks, vec![Slot::new(Duration(vm.vcpu_period.0)); vcpus]).unwrap()
    };
    drawn.into_iter().map(vm).collect()
}
