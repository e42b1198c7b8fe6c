//! Task sets and systems per second of processor time on one core.

mod cpu_time;

use analysis::hierarchy::{PcpuAnalyzer, Vcpu};
use analysis::memory::budget::{Critical, Share, largest};
use analysis::memory::{Bus, Contention, Curve, Interferer, Reservation};
use analysis::response::{Analyzer, Workload};
use analysis::vmpcp;
use analysis::{Duration, Kind, Server, Task};
use cpu_time::CpuTime;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use taskgen::{Random, log_uniform, uunifast};

/// How many sets and systems, each a different one.
const SETS: usize = 4096;
const SYSTEMS: usize = 512;
const PCPUS: usize = 8;

const MS: policy::time::Duration = policy::time::Duration(1_000_000);
const SECOND: policy::time::Duration = policy::time::Duration(1_000_000_000);

/// Tasks with these shares, the shortest period first.
fn tasks(shares: Vec<f64>, mut period: impl FnMut() -> policy::time::Duration) -> Vec<Task> {
    let task = |share: f64| {
        let period = period().0;
        let wcet = ((period as f64 * share) as u64).max(1);
        Task::new(Duration(wcet), Duration(period)).expect("a task")
    };
    let mut tasks: Vec<_> = shares.into_iter().map(task).collect();
    tasks.sort_by_key(Task::period);
    tasks
}

/// 6 tasks, 90 % of a processor, log-uniform periods from 1 ms to 1 s.
fn task_sets() -> Vec<Vec<Task>> {
    let mut random = Random::new(1, 0);
    let set = |_| {
        let shares = uunifast::sample(&mut random, 6, 0.9).expect("shares");
        tasks(shares, || log_uniform::sample(&mut random, MS, SECOND, MS).expect("a period"))
    };
    (0..SETS).map(set).collect()
}

/// The systems of vMPCP, Table I, without locks: 8 PCPUs with 2 VCPUs each, of 5 ms and half of
/// the PCPU; 3 tasks in each that need 15 %, with periods from 100 to 500 ms.
fn systems() -> Vec<Vec<Vec<Task>>> {
    let mut random = Random::new(2, 0);
    let mut vcpu = |_| {
        let shares = uunifast::sample(&mut random, 3, 0.15).expect("shares");
        tasks(shares, || policy::time::Duration(random.between(100_000_000, 500_000_000)))
    };
    (0..SYSTEMS).map(|_| (0..2 * PCPUS).map(&mut vcpu).collect()).collect()
}

fn one_level(criterion: &mut Criterion<CpuTime>) {
    let sets = task_sets();
    let mut group = criterion.benchmark_group("6 tasks, U = 0.9");
    group.throughput(Throughput::Elements(SETS as u64));
    let mut analyzer = Analyzer::default();
    group.bench_function("schedulable", |bencher| {
        bencher.iter(|| {
            let good = |set: &&Vec<Task>| analyzer.schedulable(&Workload::new(set)).is_ok();
            sets.iter().filter(good).count()
        });
    });
    let mut responses = Vec::new();
    group.bench_function("response times", |bencher| {
        bencher.iter(|| {
            let mut longest = Duration(0);
            for set in &sets {
                analyzer.response_times(&Workload::new(set), &mut responses);
                longest = longest.max(responses[5].map_or(Duration(0), |it| it.time));
            }
            longest
        });
    });
    group.finish();
}

fn two_levels(criterion: &mut Criterion<CpuTime>) {
    let systems = systems();
    let mut group = criterion.benchmark_group("48 tasks, 8 PCPUs x 2 VCPUs x 3");
    group.throughput(Throughput::Elements(SYSTEMS as u64));
    for kind in [Kind::Periodic, Kind::Deferrable, Kind::Sporadic] {
        // The largest budgets of both that pass, which for deferrable servers is less than half.
        let budget = if kind == Kind::Deferrable { 1_660_000 } else { 2_500_000 };
        let server = Server::new(kind, Duration(budget), Duration(5_000_000)).expect("a server");
        let systems: Vec<Vec<[Vcpu<'_>; 2]>> = systems
            .iter()
            .map(|vcpus| {
                let pairs = vcpus.chunks(2);
                pairs.map(|it| [0, 1].map(|one| Vcpu::new(server, &it[one]))).collect()
            })
            .collect();
        let mut analyzer = PcpuAnalyzer::default();
        group.bench_function(format!("{kind:?}"), |bencher| {
            bencher.iter(|| {
                let mut good = |pcpu: &[Vcpu<'_>; 2]| analyzer.schedulable(pcpu).is_ok();
                systems.iter().filter(|pcpus| pcpus.iter().all(&mut good)).count()
            });
        });
    }
    group.finish();
}

/// The same systems in which each task shares a resource with one other: a section of 10 us. What
/// is counted is all that an analysis needs, from the description of the system on.
fn locks(criterion: &mut Criterion<CpuTime>) {
    let mut random = Random::new(4, 0);
    let mut system = |tasks: &Vec<Vec<Task>>| {
        let mut resources: Vec<usize> = (0..6 * PCPUS).map(|task| task / 2).collect();
        random.shuffle(&mut resources);
        let length = Duration(10_000);
        let mut task = |task: &Task| {
            let wcet = task.wcet().max(length);
            let task = task.with_wcet(wcet).expect("a task");
            let resource = resources.pop().expect("one for each");
            vmpcp::Task {
                task,
                sections: vec![vmpcp::Section { resource, length, inter_vm: false }],
            }
        };
        let mut vcpu = |(priority, tasks): (usize, &Vec<Task>)| {
            let tasks = tasks.iter().map(&mut task).collect();
            vmpcp::Vcpu { priority: priority as u32, tasks }
        };
        let vcpus = tasks.iter().zip((0..2 * PCPUS).rev()).map(|(tasks, it)| (it, tasks));
        let vcpus: Vec<_> = vcpus.map(&mut vcpu).collect();
        vcpus.chunks(2).map(<[_]>::to_vec).collect::<Vec<_>>()
    };
    let systems: Vec<Vec<Vec<vmpcp::Vcpu>>> = systems().iter().map(&mut system).collect();
    let mut group = criterion.benchmark_group("48 tasks with a global section each");
    group.throughput(Throughput::Elements(SYSTEMS as u64));
    for variant in [vmpcp::Variant::Published, vmpcp::Variant::Sound] {
        for (kind, overrun, budget) in [
            (Kind::Periodic, true, 2_440_000),
            (Kind::Deferrable, true, 1_600_000),
            (Kind::Deferrable, false, 1_620_000),
        ] {
            let server =
                Server::new(kind, Duration(budget), Duration(5_000_000)).expect("a server");
            let hosts = [vmpcp::Host::new(server, overrun); 2 * PCPUS];
            let mut analyzer = vmpcp::Analyzer::new(variant, vmpcp::Protocol::Vmpcp);
            let with = if overrun { "with" } else { "without" };
            group.bench_function(format!("{variant:?}, {kind:?} {with} overrun"), |bencher| {
                let mut good = |pcpus: &&Vec<Vec<vmpcp::Vcpu>>| {
                    let system = vmpcp::System::new(pcpus).expect("a system");
                    analyzer.schedulable(&system, &hosts).is_ok()
                };
                let count = systems.iter().filter(&mut good).count();
                assert!(count > SYSTEMS / 2, "{count} of {SYSTEMS} are schedulable");
                bencher.iter(|| systems.iter().filter(&mut good).count());
            });
        }
    }
    group.finish();
}

/// The same sets, at 60 % of a processor, beside three PCPUs that may each make 1000 accesses of
/// 64 ns in each millisecond; each task makes one in each microsecond.
fn interference(criterion: &mut Criterion<CpuTime>) {
    let mut random = Random::new(3, 0);
    let set = |_| {
        let shares = uunifast::sample(&mut random, 6, 0.6).expect("shares");
        tasks(shares, || log_uniform::sample(&mut random, MS, SECOND, MS).expect("a period"))
    };
    let sets: Vec<Vec<Task>> = (0..SETS).map(set).collect();
    let count = |set: &Vec<Task>| set.iter().map(|task| Some(task.wcet().0 / 1_000)).collect();
    let accesses: Vec<Vec<Option<u64>>> = sets.iter().map(count).collect();
    let latency = Duration(64);
    let bus =
        Bus { overshoot: 64, lateness: Duration(50_000), in_flight: 1, ..Bus::ideal(latency) };
    let reservation = Reservation::new(1_000, Duration(MS.0)).expect("a reservation");
    let limit = Some(vec![Curve::new(&reservation, &bus)]);
    let interferers = vec![Interferer { pcpus: 1, limit }; 3];
    let interferers = &interferers[..];
    let mut group = criterion.benchmark_group("6 tasks, U = 0.6, beside 3 PCPUs");
    group.throughput(Throughput::Elements(SETS as u64));
    let mut analyzer = Analyzer::default();
    group.bench_function("schedulable", |bencher| {
        bencher.iter(|| {
            let good = |(set, accesses): &(&Vec<Task>, &Vec<Option<u64>>)| {
                let (reload, throttle) = (0, None);
                let contention = Contention { bus, accesses, reload, interferers, throttle };
                let workload = Workload::new(set).with_contention(contention);
                analyzer.schedulable(&workload).is_ok()
            };
            sets.iter().zip(&accesses).filter(good).count()
        });
    });
    let shares: Vec<_> = (1..4)
        .map(|pcpu| {
            let (pcpus, period) = ([pcpu].into(), Duration(MS.0));
            Share { pcpus, overshoot: 64, period, weight: 1, compensation: 1 }
        })
        .collect();
    const BUDGETS: usize = 256;
    group.throughput(Throughput::Elements(BUDGETS as u64));
    group.bench_function("largest budgets", |bencher| {
        bencher.iter(|| {
            let found = |(set, accesses): (&Vec<Task>, &Vec<Option<u64>>)| {
                let workload = Workload::new(set);
                let critical = Critical {
                    pcpu: 0,
                    workload,
                    accesses,
                    reload: 0,
                    throttle: None,
                    others: &[],
                    counts: false,
                };
                largest(&[critical], &shares, &bus)
            };
            sets.iter().zip(&accesses).take(BUDGETS).filter_map(found).map(|it| it[0]).max()
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = one_level, two_levels, locks, interference
}
criterion_main!(benches);
