//! No simulated response time is longer than its bound.
//!
//! The simulator decides with the code of the hypervisor. Times are small numbers, so that
//! releases, ends of budgets and replenishments meet often, in all orders.

use analysis::hierarchy::{PcpuAnalyzer, Vcpu, VcpuResponses};
use analysis::response::{Analyzer, Response};
use analysis::{Duration, Failure, Kind, Limits, Server, Task, vcache};
use policy::rate::Rate;
use policy::server::{Parameters, Policy};
use policy::time::Instant;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sim::{Execution, Release, Silent, Simulation, System};

/// Simulated time.
const UNTIL: u64 = 3_000;

/// Longest busy period that the analyses look at: some are as long as the least common multiple of
/// all periods.
const LIMITS: Limits = Limits { window: Duration(10 * UNTIL), passes: 1_000_000 };

/// A task and what the analysis does not know: its offset, its execution times and how much
/// longer than the period, or than a limit on events, its releases may be apart.
#[derive(Clone, Debug)]
struct Drawn {
    task: Task,
    offset: u64,
    times: Vec<u64>,
    delay_max: u64,
}

/// A VCPU: server and start of its first period; none: it has the rest.
type DrawnVcpu = (Option<(Server, u64)>, Vec<Drawn>);

fn task() -> impl Strategy<Value = Drawn> {
    let times = prop::collection::vec(0u64..8, 0..4);
    // How early events may come, if they release jobs.
    let events = prop::option::weighted(0.3, 0u64..150);
    (1u64..9, 6u64..70, 0u64..80, times, 0u64..30, events).prop_map(
        |(wcet, period, offset, early, delay, events)| Drawn {
            task: {
                let task = Task::new(Duration(wcet), Duration(period)).unwrap();
                events.map_or(task, |early| task.with_events(Duration(early)).unwrap())
            },
            offset,
            // Often the longest time.
            times: early
                .iter()
                .map(|less| wcet.saturating_sub(*less).max(1))
                .chain([wcet])
                .collect(),
            delay_max: delay.saturating_sub(20),
        },
    )
}

fn server() -> impl Strategy<Value = (Server, u64)> {
    let kind = prop::sample::select(vec![Kind::Periodic, Kind::Deferrable, Kind::Sporadic]);
    (kind, 1u64..9, 0u64..16, 0u64..25).prop_map(|(kind, budget, gap, start)| {
        let server = Server::new(kind, Duration(budget), Duration(budget + gap)).unwrap();
        (server, start)
    })
}

/// The VCPUs of a PCPU, the highest priority first.
fn pcpu() -> impl Strategy<Value = Vec<DrawnVcpu>> {
    let tasks = || prop::collection::vec(task(), 1..4);
    let served = prop::collection::vec((server().prop_map(Some), tasks()), 0..4);
    let rest = prop::collection::vec((Just(None), tasks()), 0..2);
    (served, rest).prop_map(|(served, rest)| served.into_iter().chain(rest).collect())
}

fn policy(server: Option<(Server, u64)>) -> Policy {
    let Some((server, start)) = server else { return Policy::Background };
    let parameters = Parameters {
        budget: policy::time::Duration(server.budget().0),
        period: policy::time::Duration(server.period().0),
        start: Instant(start),
        overrun: policy::time::Duration::ZERO,
    };
    server.kind().policy(parameters)
}

fn system(vcpus: &[DrawnVcpu]) -> System {
    // Before its first period a server gives nothing, which is no matter of these bounds.
    let task = |drawn: &Drawn, start: u64| sim::Task {
        name: "task".into(),
        offset: start + drawn.offset,
        period: drawn.task.period().0,
        deadline: drawn.task.deadline().0,
        release: match drawn.delay_max {
            delay_max if drawn.task.counts_from_event() => {
                let times = [drawn.task.period(), drawn.task.jitter()];
                let [interval, early] = times.map(|time| policy::time::Duration(time.0));
                Release::Limited { limit: Rate::new(interval, early), delay_max }
            }
            0 => Release::Periodic,
            delay_max => Release::Sporadic { delay_max },
        },
        execution: Execution::Trace(drawn.times.clone()),
        accesses: sim::Accesses::None,
    };
    let vcpu = |(server, tasks): &DrawnVcpu| {
        let tasks = tasks.iter().map(|it| task(it, server.map_or(0, |it| it.1)));
        sim::Vcpu::new("vcpu", policy(*server), tasks.collect())
    };
    System::new(vec![sim::Pcpu { vcpus: vcpus.iter().map(vcpu).collect() }])
}

/// The bounds of [`analysis::hierarchy`].
fn bounds(vcpus: &[DrawnVcpu]) -> Vec<VcpuResponses> {
    let tasks: Vec<Vec<Task>> =
        vcpus.iter().map(|(_, tasks)| tasks.iter().map(|drawn| drawn.task).collect()).collect();
    let all: Vec<_> = vcpus
        .iter()
        .zip(&tasks)
        .map(|((server, _), tasks)| Vcpu { server: server.map(|it| it.0), tasks, caches: None })
        .collect();
    PcpuAnalyzer::new(LIMITS).response_times(&all)
}

/// The bounds that are published for a VCPU with these tasks.
fn published(server: Server, tasks: &[Task]) -> Vec<Result<Response, Failure>> {
    let mut bounds = Vec::new();
    Analyzer::new(LIMITS).response_times(&vcache::workload(tasks, server, None), &mut bounds);
    bounds
}

/// How close simulations came to bounds.
#[derive(Default)]
struct Tightness {
    systems: u64,
    tasks: u64,
    reached: u64,
    ratios: f64,
}

/// Simulates a PCPU and compares; adds to `tightness` those tasks whose bounds were tried.
fn compare(vcpus: &[DrawnVcpu], tightness: &mut Tightness) -> Result<(), TestCaseError> {
    let mut simulation = Simulation::new(&system(vcpus), 1).unwrap();
    // Jobs that pile up end a simulation; what it counted until then is as good.
    let limits = sim::Limits { until: UNTIL, events: u64::MAX };
    let _ = simulation.run(limits, &mut Silent);
    let bounds = bounds(vcpus);
    tightness.systems += 1;
    for (vcpu, (server, tasks)) in vcpus.iter().enumerate() {
        let all: Vec<Task> = tasks.iter().map(|drawn| drawn.task).collect();
        let fits = bounds[vcpu].server.is_some_and(|it| it.is_ok());
        let published = server.filter(|_| fits).map(|(server, _)| published(server, &all));
        for task in 0..tasks.len() {
            let simulated = simulation.task(0, vcpu, task);
            let longest = simulated.response_max_ns;
            if let Ok(bound) = bounds[vcpu].tasks[task] {
                prop_assert!(
                    longest <= bound.time.0,
                    "VCPU {}, task {}: simulated {}, bound {}",
                    vcpu,
                    task,
                    longest,
                    bound.time
                );
                tightness.tasks += 1;
                tightness.reached += u64::from(longest == bound.time.0);
                tightness.ratios += longest as f64 / bound.time.0 as f64;
            }
            if let Some(Ok(bound)) = published.as_ref().map(|all| all[task]) {
                prop_assert!(
                    longest <= bound.time.0,
                    "VCPU {}, task {}: simulated {}, published {}",
                    vcpu,
                    task,
                    longest,
                    bound.time
                );
                let ours = bounds[vcpu].tasks[task].map(|bound| bound.time);
                prop_assert!(ours.is_ok_and(|ours| ours <= bound.time), "{:?}", ours);
            }
        }
    }
    Ok(())
}

fn simulated_times_are_within_bounds(systems: u32) {
    let mut runner = TestRunner::new(Config { cases: systems, ..Config::default() });
    let tightness = std::cell::RefCell::new(Tightness::default());
    let result = runner.run(&pcpu(), |vcpus| compare(&vcpus, &mut tightness.borrow_mut()));
    let Tightness { systems, tasks, reached, ratios } = tightness.into_inner();
    println!(
        "{systems} systems, {tasks} tasks with bounds: {reached} reached them, \
         simulated / bound is {:.3} on average",
        ratios / tasks as f64
    );
    result.unwrap_or_else(|error| panic!("{error}"));
    // Bounds that nothing comes close to would be useless, and so would be this test.
    assert!(reached * 20 > tasks, "only {reached} of {tasks} bounds were reached");
}

#[test]
fn thousands_of_systems_stay_within_their_bounds() {
    simulated_times_are_within_bounds(5_000);
}

/// The tasks of the second VCPU need 0.444375 of the PCPU and their server has 0.444444.
#[test]
fn both_analyses_look_at_busy_periods_of_the_same_length() {
    let drawn = |wcet, period| Drawn {
        task: Task::new(Duration(wcet), Duration(period)).unwrap(),
        offset: 0,
        times: vec![wcet],
        delay_max: 0,
    };
    let server = |budget, period| {
        Some((Server::new(Kind::Periodic, Duration(budget), Duration(period)).unwrap(), 0))
    };
    let vcpus = [
        (server(2, 4), vec![drawn(1, 6)]),
        (server(8, 18), vec![drawn(5, 23), drawn(8, 63), drawn(6, 60)]),
    ];
    compare(&vcpus, &mut Tightness::default()).unwrap();
    assert_eq!(bounds(&vcpus)[1].tasks[2], Err(Failure::LimitReached { task: 2 }));
}

#[test]
#[ignore = "takes a minute in a debug build"]
fn a_hundred_thousand_systems_stay_within_their_bounds() {
    simulated_times_are_within_bounds(100_000);
}
