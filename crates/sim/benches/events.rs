//! Scheduling events, and accesses with contention, per second on one core.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use policy::bandwidth;
use policy::cpu::WHOLE_CPU;
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use sim::{
    Accesses, Contention, Execution, Limits, MemoryBudget, Pcpu, Release, Silent, Simulation,
    System, Task, Vcpu,
};

/// 4 PCPUs with two VCPUs each, one of each kind of server among them, three tasks in each VCPU.
fn system() -> System {
    let vcpu = |number: u64| {
        let parameters = Parameters {
            budget: Duration(2_000_000 + 100_000 * number),
            period: Duration(5_000_000 + 500_000 * number),
            start: Instant(0),
            overrun: Duration::ZERO,
        };
        let server = match number % 3 {
            0 => Policy::Periodic(parameters),
            1 => Policy::Deferrable(parameters),
            _ => Policy::Sporadic(parameters),
        };
        let task = |rank: u64| Task {
            name: format!("{number}/{rank}"),
            offset: 100_000 * number,
            period: 10_000_000 << rank,
            deadline: 10_000_000 << rank,
            release: Release::Periodic,
            execution: Execution::Uniform { min: 300_000, max: 900_000 << rank },
            accesses: Accesses::None,
        };
        Vcpu::new(number.to_string(), server, (0..3).map(task).collect())
    };
    let pcpu = |number: u64| Pcpu { vcpus: vec![vcpu(2 * number), vcpu(2 * number + 1)] };
    System::new((0..4).map(pcpu).collect())
}

fn events(criterion: &mut Criterion) {
    const EVENTS: u64 = 1_000_000;
    let system = system();
    let mut group = criterion.benchmark_group("simulation");
    group.throughput(Throughput::Elements(EVENTS));
    group.sample_size(10);
    group.bench_function("4 PCPUs, 8 VCPUs, 24 tasks", |bencher| {
        bencher.iter(|| {
            let mut simulation = Simulation::new(&system, 1).expect("a system");
            let limits = Limits { until: u64::MAX, events: EVENTS };
            simulation.run(limits, &mut Silent).expect("no overload");
            simulation.now_ns()
        });
    });
    group.finish();
}

/// The neighbours of a task with accesses.
#[derive(Clone, Copy)]
enum Others {
    /// They make an access with each of the task.
    Worst,
    /// They make one access after the other.
    Stream,
    /// As `Stream`, and on another PCPU there is a task with fewer accesses.
    Two,
}

/// A task with 1,000 accesses in each ms, beside 3 VCPUs that may make 500 each.
fn contention(others: Others) -> System {
    let vcpu = |number: u64| {
        let task = |execution, accesses| Task {
            name: number.to_string(),
            offset: 0,
            period: 1_000_000,
            deadline: 1_000_000,
            release: Release::Periodic,
            execution: Execution::Always(execution),
            accesses,
        };
        match (number, others) {
            (0, _) => {
                return Vcpu::new(
                    "critical",
                    WHOLE_CPU,
                    vec![task(500_000, Accesses::PerJob(1_000))],
                );
            }
            (1, Others::Two) => {
                return Vcpu::new("second", WHOLE_CPU, vec![task(400_000, Accesses::PerJob(100))]);
            }
            _ => {}
        }
        let accesses = match others {
            Others::Worst => Accesses::WithOthers,
            Others::Stream | Others::Two => Accesses::Every(64),
        };
        let endless = Task { period: u64::MAX, ..task(u64::MAX, accesses) };
        let memory = MemoryBudget::Own(bandwidth::Parameters {
            budget: 500,
            period: Duration(1_000_000),
            start: Instant(0),
        });
        Vcpu { memory, ..Vcpu::new(number.to_string(), WHOLE_CPU, vec![endless]) }
    };
    let mut system = System::new((0..4).map(|it| Pcpu { vcpus: vec![vcpu(it)] }).collect());
    system.memory.contention = Some(Contention { latency: 64, always_longest: true });
    system
}

/// One by one against many at once: the ratio of the times of two lines is what the latter saves.
fn accesses(criterion: &mut Criterion) {
    const UNTIL: u64 = 100_000_000;
    let mut group = criterion.benchmark_group("100 ms with contention");
    group.sample_size(10);
    for (name, others) in
        [("worst", Others::Worst), ("stream", Others::Stream), ("two tasks", Others::Two)]
    {
        let system = contention(others);
        for one_by_one in [true, false] {
            let how = if one_by_one { "one by one" } else { "at once" };
            group.bench_function(format!("{name}, {how}"), |bencher| {
                bencher.iter(|| {
                    let mut simulation = Simulation::new(&system, 1).expect("a system");
                    if one_by_one {
                        simulation = simulation.one_by_one();
                    }
                    let limits = Limits { until: UNTIL, events: u64::MAX };
                    simulation.run(limits, &mut Silent).expect("no overload");
                    simulation.events()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, events, accesses);
criterion_main!(benches);
