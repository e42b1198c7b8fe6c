//! How long a plan takes: 15 tasks, two VMs with four VCPUs each, 32 colours.
//!
//! Means come from criterion; then the longest of many systems, in processor time, of which each
//! is planned three times and the shortest time counts: what else the machine does plays little
//! part.

use std::hint::black_box;
use std::time::Duration as Time;

use analysis::Duration;
use criterion::{Criterion, criterion_group};
use planner::search::Planner;
use planner::{Setting, Slot, Task, Vm, rate_monotonic};
use rustix::time::{ClockId, clock_gettime};
use taskgen::Random;
use taskgen::vcache::{Parameters, TABLE_3};

/// Microseconds to load a colour again.
const RELOADS: [u64; 2] = [207, 10_000];
/// Systems of which the longest is looked for.
const MANY: u64 = 1_000;
/// What no system may need.
const LIMIT: Time = Time::from_millis(50);

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

fn setting(reload_us: u64) -> Setting {
    Setting::new(32, Duration(reload_us * 1_000)).expect("32 colours")
}

fn plan(criterion: &mut Criterion) {
    for reload in RELOADS {
        let setting = setting(reload);
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

/// Processor time that this thread has had.
fn now() -> Time {
    clock_gettime(ClockId::ThreadCPUTime).try_into().expect("time goes forward")
}

/// The shortest of three times.
fn time(vms: &[Vm], setting: &Setting) -> Time {
    let once = || {
        let start = now();
        black_box(Planner::new(vms, setting).plan(32));
        now() - start
    };
    once().min(once()).min(once())
}

fn longest() {
    for reload in RELOADS {
        let setting = setting(reload);
        let mut times: Vec<(Time, u64)> =
            (0..MANY).map(|set| (time(&vms(set), &setting), set)).collect();
        times.sort_unstable();
        let mean = times.iter().map(|(time, _)| *time).sum::<Time>() / MANY as u32;
        let (longest, set) = times[times.len() - 1];
        let (most, _) = times[times.len() * 99 / 100];
        println!(
            "{MANY} systems, colours reload in {reload} us: mean {mean:.1?}, 99 % below {most:.1?}, \
             longest {longest:.1?} (system {set}, limit {LIMIT:?})"
        );
        assert!(longest <= LIMIT, "system {set} takes {longest:?}");
    }
}

criterion_group!(benches, plan);

fn main() {
    benches();
    // Not if the benchmark only has to be shown to work (`cargo test --benches`).
    if std::env::args().any(|argument| argument == "--bench") {
        longest();
    }
}
