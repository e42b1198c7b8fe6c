//! No simulated response time is longer than its bound where the hypervisor takes time, beside VCPUs that wake and block as
//! often as they can.

use analysis::overheads::{Costs, Neighbour, Overheads};
use analysis::response::{Analyzer, Workload};
use analysis::supply::{ServerSupply, Supply};
use analysis::vcpu::late_response_times;
use analysis::{Duration, Kind, Limits, Server, Task};
use policy::server::{Parameters, Policy};
use policy::time::Instant;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sim::{Execution, Pcpu, Release, Silent, Simulation, System};

/// Simulated time.
const UNTIL: u64 = 6_000;

/// A task: execution time, period, offset, shorter execution times, and how late it may come.
type DrawnTask = (u64, u64, u64, Vec<u64>, u64);

#[derive(Clone, Debug)]
struct DrawnVcpu {
    /// None: it is of the background.
    server: Option<(Kind, u64, u64)>,
    tasks: Vec<DrawnTask>,
    /// It is released each so many ns, and blocks again at once; nothing is promised to its tasks.
    storm: Option<u64>,
}

#[derive(Clone, Debug)]
struct Drawn {
    /// Switch, tick, kick, interrupt; how many kicks.
    costs: [u64; 5],
    vcpus: Vec<DrawnVcpu>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let task = (1u64..30, 60u64..400, 0u64..300, prop::collection::vec(0u64..30, 0..3), 0u64..40);
    let kind = prop::sample::select(vec![Kind::Periodic, Kind::Deferrable, Kind::Sporadic]);
    let server = prop::option::weighted(0.9, (kind, 10u64..60, 1u64..150));
    let storm = prop::option::weighted(0.4, 1u64..12);
    let vcpu = (server, prop::collection::vec(task, 1..3), storm)
        .prop_map(|(server, tasks, storm)| DrawnVcpu { server, tasks, storm });
    let vcpus = prop::collection::vec(vcpu, 1..4);
    let costs = [0u64..4, 0u64..3, 0u64..3, 0u64..3, 0u64..4];
    (costs, vcpus).prop_map(|(costs, mut vcpus)| {
        vcpus.sort_by_key(|vcpu| vcpu.server.is_none());
        Drawn { costs, vcpus }
    })
}

/// A VCPU that wakes many times in each of its periods, above or below another one.
fn restless() -> impl Strategy<Value = Drawn> {
    let kind = || prop::sample::select(vec![Kind::Periodic, Kind::Deferrable, Kind::Sporadic]);
    let short = (1u64..3, 12u64..30, 0u64..40, prop::collection::vec(0u64..2, 0..2), 0u64..40);
    let long = (5u64..40, 200u64..600, 0u64..300, prop::collection::vec(0u64..30, 0..3), 0u64..40);
    let wakes = (kind(), 60u64..160, 10u64..40, short, long);
    let other = (kind(), 5u64..20, 100u64..200, prop::option::of(1u64..12));
    let costs = [0u64..3, 0u64..2, 0u64..3, 0u64..2, 0u64..4];
    (costs, wakes, other, any::<bool>()).prop_map(|(costs, wakes, other, first)| {
        let (kind, budget, gap, short, long) = wakes;
        let server = Some((kind, budget, gap));
        let wakes = DrawnVcpu { server, tasks: vec![short, long], storm: None };
        let (kind, budget, gap, storm) = other;
        let server = Some((kind, budget, gap));
        let other = DrawnVcpu { server, tasks: vec![(1, 300, 0, Vec::new(), 0)], storm };
        let vcpus = if first { vec![wakes, other] } else { vec![other, wakes] };
        Drawn { costs, vcpus }
    })
}

fn costs([switch, tick, kick, interrupt, kicks]: [u64; 5]) -> Costs {
    let (switch, kick) = (Duration(switch.max(tick)), Duration(kick.max(tick)));
    let interrupt = Duration(interrupt);
    // Besides those that change nothing, the one that wakes a VCPU which has to wait.
    let kicks = kicks + 1;
    let pays = Duration(switch.0 + kick.0 * kicks);
    Costs {
        switch,
        kick,
        kicks,
        interrupt,
        exit: Duration(0),
        console: Duration(0),
        late: pays.max(interrupt),
    }
}

fn servers(vcpus: &[DrawnVcpu]) -> Vec<Server> {
    let server = |(kind, budget, gap): (Kind, u64, u64)| {
        Server::new(kind, Duration(budget), Duration(budget + gap)).unwrap()
    };
    vcpus.iter().map_while(|vcpu| vcpu.server.map(server)).collect()
}

/// The tasks of a VCPU as they are analysed.
fn tasks(vcpu: &DrawnVcpu) -> Vec<Task> {
    let all = vcpu.tasks.iter();
    all.map(|(wcet, period, ..)| Task::new(Duration(*wcet), Duration(*period)).unwrap()).collect()
}

fn system(drawn: &Drawn) -> System {
    let task = |(wcet, period, offset, early, delay_max): &DrawnTask| sim::Task {
        name: "task".into(),
        offset: *offset,
        period: *period,
        deadline: *period,
        release: match delay_max {
            0..30 => Release::Periodic,
            _ => Release::Sporadic { delay_max: *delay_max },
        },
        execution: Execution::Trace(
            early.iter().map(|less| wcet.saturating_sub(*less).max(1)).chain([*wcet]).collect(),
        ),
        accesses: sim::Accesses::None,
    };
    let server = |server: &Option<(Kind, u64, u64)>| {
        let Some((kind, budget, gap)) = server else { return Policy::Background };
        let parameters = Parameters {
            budget: policy::time::Duration(*budget),
            period: policy::time::Duration(budget + gap),
            start: Instant(0),
            overrun: policy::time::Duration::ZERO,
        };
        kind.policy(parameters)
    };
    let vcpu = |vcpu: &DrawnVcpu| {
        let tasks = match vcpu.storm {
            Some(period) => vec![task(&(1, period, 0, Vec::new(), 0))],
            None => vcpu.tasks.iter().map(task).collect(),
        };
        sim::Vcpu::new("vcpu", server(&vcpu.server), tasks)
    };
    let [switch, tick, kick, interrupt, kicks] = drawn.costs;
    let overheads = sim::Overheads { kicks, switch, tick, kick, interrupt, exit: 0 };
    let vcpus = drawn.vcpus.iter().map(vcpu).collect();
    System { overheads, ..System::new(vec![Pcpu { vcpus }]) }
}

#[derive(Default)]
struct Tightness {
    tasks: u64,
    near: u64,
    /// Longer than the bound without overheads would be.
    beyond: u64,
}

fn compare(drawn: &Drawn, tightness: &mut Tightness) -> Result<(), TestCaseError> {
    let mut simulation = Simulation::new(&system(drawn), 1).unwrap();
    let limits = sim::Limits { until: UNTIL, events: u64::MAX };
    // Jobs that pile up end a simulation; what it counted until then is as good.
    let _ = simulation.run(limits, &mut Silent);
    let (costs, servers) = (costs(drawn.costs), servers(&drawn.vcpus));
    let bounds = |costs: Costs, place: usize| {
        let (vcpu, own) = (&drawn.vcpus[place], servers.get(place).copied());
        let response = late_response_times(&servers, costs.late).get(place).copied();
        let supply = match (own, response) {
            (Some(own), Some(response)) => {
                Supply::Server(ServerSupply::with_response(own, response.ok()?)?)
            }
            _ if place == servers.len() => Supply::Leftover(&servers),
            _ => return None,
        };
        let tasks = tasks(vcpu);
        let overheads =
            Overheads::new(costs, drawn.vcpus.len() as u64 - 1).of_vcpu(own, &tasks, true);
        let overheads = (0..drawn.vcpus.len()).filter(|other| *other != place).fold(
            overheads,
            |overheads, other| {
                let neighbour = match servers.get(other) {
                    Some(server) if other < place => Neighbour::Above(*server),
                    _ => Neighbour::Below,
                };
                overheads.beside(neighbour, own)
            },
        );
        let overheads = match own {
            Some(_) => overheads,
            None => overheads.with_debts(place),
        };
        let workload = Workload::new(&tasks).with_supply(supply).with_overheads(&overheads);
        let mut found = Vec::new();
        let limits = Limits { window: Duration(10 * UNTIL), ..Limits::default() };
        Analyzer::new(limits).response_times(&workload, &mut found);
        Some(found)
    };
    for (place, vcpu) in drawn.vcpus.iter().enumerate().filter(|(_, it)| it.storm.is_none()) {
        let (Some(found), without) = (bounds(costs, place), bounds(Costs::default(), place)) else {
            continue;
        };
        for task in 0..vcpu.tasks.len() {
            let Ok(bound) = found[task] else { continue };
            let longest = simulation.task(0, place, task).response_max_ns;
            let message = format!("VCPU {place}, task {task}: {longest}, bound {}", bound.time);
            prop_assert!(longest <= bound.time.0, "{}", message);
            tightness.tasks += 1;
            tightness.near += u64::from(longest * 10 >= bound.time.0 * 8);
            let without = without.as_ref().and_then(|all| all[task].ok());
            tightness.beyond += u64::from(without.is_some_and(|it| longest > it.time.0));
        }
    }
    Ok(())
}

fn bounds_hold(systems: u32, drawn: impl Strategy<Value = Drawn>) {
    let mut runner = TestRunner::new(Config { cases: systems, ..Config::default() });
    let tightness = std::cell::RefCell::new(Tightness::default());
    let result = runner.run(&drawn, |drawn| compare(&drawn, &mut tightness.borrow_mut()));
    let Tightness { tasks, near, beyond } = tightness.into_inner();
    println!("{tasks} tasks: {near} within 20 % of their bounds, {beyond} beyond those without");
    result.unwrap_or_else(|error| panic!("{error}"));
    // What is not counted would be missed.
    assert!(near * 50 > tasks && beyond * 50 > tasks, "{near} and {beyond} of {tasks}");
}

/// A VCPU above wakes often: the kicks meanwhile, for which it pays, do not use the budget of the one below as well.
#[test]
fn kicks_for_a_vcpu_with_budget_leave_that_of_the_one_below() {
    let task = |wcet, period| (wcet, period, 0, Vec::new(), 0);
    let vcpu = |server, task, storm| DrawnVcpu { server: Some(server), tasks: vec![task], storm };
    let above = vcpu((Kind::Deferrable, 53, 129), task(1, 60), Some(7));
    let below = vcpu((Kind::Periodic, 34, 139), task(23, 129), None);
    let drawn = Drawn { costs: [0, 0, 1, 0, 2], vcpus: vec![above, below] };
    compare(&drawn, &mut Tightness::default()).unwrap();
}

/// Stands behind P6 of the safety manual.
#[test]
fn systems_with_overheads_and_storms_stay_within_their_bounds() {
    bounds_hold(10_000, drawn());
}

#[test]
fn vcpus_that_wake_often_stay_within_their_bounds() {
    bounds_hold(2_000, restless());
}

#[test]
#[ignore = "minutes: `BULKHEAD_SYSTEMS=1000000`"]
fn many_systems_with_overheads_and_storms_stay_within_their_bounds() {
    let systems = std::env::var("BULKHEAD_SYSTEMS").ok().and_then(|it| it.parse().ok());
    bounds_hold(systems.unwrap_or(100_000), drawn());
    bounds_hold(systems.unwrap_or(100_000), restless());
}
