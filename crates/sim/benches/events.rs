//! Scheduling events per second on one core.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use sim::{Accesses, Execution, Limits, Pcpu, Release, Silent, Simulation, System, Task, Vcpu};

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

criterion_group!(benches, events);
criterion_main!(benches);
