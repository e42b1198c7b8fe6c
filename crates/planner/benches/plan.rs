//! How long a plan takes: 15 tasks, two VMs with four VCPUs each, 32 colours.

use std::hint::black_box;

use analysis::Duration;
use criterion::{Criterion, criterion_group, criterion_main};
use planner::search::Planner;
use planner::{Setting, Slot, Task, Vm, rate_monotonic};
use taskgen::Random;
use taskgen::vcache::{Parameters, TABLE_3};

fn vms(set: u64) -> Vec<Vm> {
    let parameters = Parameters { tasks: [15, 15], ..TABLE_3 };
    let drawn = parameters.sample(&mut Random::new(2017, set)).expect("Table 3 can be drawn");
    let vm = |vm: taskgen::vcache::Vm| {
        let task = |task: taskgen::vcache::Task| {
            let wcet: Vec<_> = task.wcet.iter().map(|time| Duration(time.0)).collect();
            let base = analysis::Task::new(wcet[0], Duration(task.period.0));
            Task::new(base.expect("drawn tasks are tasks"), &wcet).expect("so are these")
        };
        let mut tasks: Vec<Task> = vm.tasks.into_iter().map(task).collect();
        rate_monotonic(&mut tasks);
        let slots = vec![Slot::new(Duration(vm.vcpu_period.0)); 4];
        Vm::new(tasks, slots).expect("four VCPUs with periods")
    };
    drawn.into_iter().map(vm).collect()
}

fn plan(criterion: &mut Criterion) {
    for reload in [207, 10_000] {
        let setting = Setting::new(32, Duration(reload * 1_000)).expect("32 colours");
        let systems: Vec<Vec<Vm>> = (0..20).map(vms).collect();
        criterion.bench_function(
            &format!("20 systems, colours reload in {reload} us"),
            |bencher| {
                bencher.iter(|| {
                    for vms in &systems {
                        black_box(Planner::new(vms, &setting).plan(32));
                    }
                });
            },
        );
    }
}

criterion_group!(benches, plan);
criterion_main!(benches);
