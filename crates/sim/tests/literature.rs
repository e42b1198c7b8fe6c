//! Deferrable servers in textbooks: the examples, and the schedules that follow by hand from
//! the rules.

use policy::cpu::WHOLE_CPU;
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use sim::{Accesses, Event, Execution, Limits, Pcpu, Release, Simulation, System, Task, Vcpu};

fn deferrable(budget: u64, period: u64) -> Policy {
    let (budget, period) = (Duration(budget), Duration(period));
    let overrun = Duration::ZERO;
    Policy::Deferrable(Parameters { budget, period, start: Instant(0), overrun })
}

fn task(offset: u64, period: u64, time: u64) -> Task {
    Task {
        name: format!("at {offset}"),
        offset,
        period,
        deadline: period,
        release: Release::Periodic,
        execution: Execution::Always(time),
        accesses: Accesses::None,
    }
}

/// A VCPU on which nothing but one periodic task runs.
fn periodic(offset: u64, period: u64, time: u64) -> Vcpu {
    Vcpu::new("periodic", WHOLE_CPU, vec![task(offset, period, time)])
}

/// A server for requests: when they arrive, and how long they take.
fn server(policy: Policy, requests: &[(u64, u64)]) -> Vcpu {
    let tasks = requests.iter().map(|&(arrival, time)| task(arrival, u64::MAX, time));
    Vcpu::new("server", policy, tasks.collect())
}

/// What ran on a PCPU: VCPU, from, until.
fn schedule(vcpus: Vec<Vcpu>, until: u64) -> Vec<(usize, u64, u64)> {
    let system = System::new(vec![Pcpu { vcpus }]);
    let mut ran = Vec::new();
    let mut running = None;
    let mut observer = |now: u64, _: usize, event: Event| {
        let next = match event {
            Event::Run { vcpu, .. } => Some((vcpu, now)),
            Event::Idle => None,
            _ => return,
        };
        if let Some((vcpu, since)) = std::mem::replace(&mut running, next) {
            ran.push((vcpu, since, now));
        }
    };
    let mut simulation = Simulation::new(&system, 1).unwrap();
    simulation.run(Limits { until, events: u64::MAX }, &mut observer).unwrap();
    ran
}

/// Liu, "Real-Time Systems" (2000), section 7.2, the server of figure 7-2: period 2.5 and
/// budget 0.5; a job of 0.8 arrives at 0.1, another one when the server has 0.2 left. Tenths.
#[test]
fn a_deferrable_server_keeps_its_budget() {
    let vcpu = server(deferrable(5, 25), &[(1, 8), (40, 5)]);
    let expected = [(0, 1, 6), (0, 25, 28), (0, 40, 42), (0, 50, 53)];
    assert_eq!(schedule(vec![vcpu], 60), expected);
}

/// The same section, figure 7-3: a server with period 3 and budget 1 above the tasks
/// (phase 2, period 3.5, time 1.5) and (6.5, 0.5); a job of 1.7 arrives at 2.8. What is left
/// at 3.0 is lost, and the job goes on with the new budget, until 4.0 and from 6.0 to 6.5.
/// Tenths.
#[test]
fn budget_that_is_left_is_lost_at_the_replenishment() {
    let (server, first) = (server(deferrable(10, 30), &[(28, 17)]), periodic(20, 35, 15));
    let ran = schedule(vec![server, first, periodic(0, 65, 5)], 81);
    let expected = [
        (2, 0, 5),
        (1, 20, 28),
        (0, 28, 40),
        (1, 40, 47),
        (1, 55, 60),
        (0, 60, 65),
        (1, 65, 75),
        (2, 75, 80),
    ];
    assert_eq!(ran, expected);
}

/// Buttazzo, "Hard Real-Time Computing Systems", the deferrable server under rate monotonic
/// priorities: tasks with times 1 and 2 and periods 4 and 6, a server of 2 in 5 between
/// them, requests of 2, 1, 2, 1 at 2, 8, 12, 19.
#[test]
fn a_server_between_two_tasks() {
    let requests = server(deferrable(2, 5), &[(2, 2), (8, 1), (12, 2), (19, 1)]);
    let ran = schedule(vec![periodic(0, 4, 1), requests, periodic(0, 6, 2)], 24);
    let served: Vec<_> =
        ran.iter().filter(|(vcpu, ..)| *vcpu == 1).map(|run| (run.1, run.2)).collect();
    assert_eq!(served, [(2, 4), (9, 10), (13, 15), (19, 20)]);
    let low: Vec<_> =
        ran.iter().filter(|(vcpu, ..)| *vcpu == 2).map(|run| (run.1, run.2)).collect();
    assert_eq!(low, [(1, 2), (5, 8), (15, 16), (17, 19), (21, 22)]);
}

/// Strosnider, Lehoczky and Sha (IEEE ToC 1995): a deferrable server can take its budget at the
/// end of a period and at once again, so that a lower task waits for twice the budget.
#[test]
fn two_budgets_back_to_back_delay_the_task_below() {
    let requests = server(deferrable(2, 6), &[(4, 4)]);
    let ran = schedule(vec![requests, periodic(4, 10, 3)], 13);
    assert_eq!(ran, [(0, 4, 8), (1, 8, 11)]);
}
