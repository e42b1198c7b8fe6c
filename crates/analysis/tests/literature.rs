//! Examples with response times that are known, named after their source.

use analysis::response::{Workload, response_times, schedulable};
use analysis::supply::{ServerSupply, Supply};
use analysis::utilization::{Share, utilization};
use analysis::{Caches, Duration, Kind, Server, Task, vcache, vcpu};
use policy::color::ColorSet;

fn task(wcet: u64, period: u64) -> Task {
    Task::new(Duration(wcet), Duration(period)).unwrap()
}

fn server(kind: Kind, budget: u64, period: u64) -> Server {
    Server::new(kind, Duration(budget), Duration(period)).unwrap()
}

fn times(workload: &Workload<'_>) -> Vec<u64> {
    response_times(workload).into_iter().map(|bound| bound.unwrap().time.0).collect()
}

/// Burns and Wellings, "Real-Time Systems and Programming Languages", response time analysis:
/// a task set that rate monotonic utilisation bounds refuse, though its utilisation is exactly 1.
#[test]
fn burns_wellings_utilization_of_one() {
    let tasks = [task(5, 20), task(10, 40), task(40, 80)];
    let workload = Workload::new(&tasks);
    assert_eq!(times(&workload), [5, 15, 80]);
    assert_eq!(schedulable(&workload), Ok(()));
    assert_eq!(utilization(&tasks, None), Share::WHOLE);
}

/// The same book: periods 7, 12, 20.
#[test]
fn burns_wellings_task_set_d() {
    assert_eq!(times(&Workload::new(&[task(3, 7), task(3, 12), task(5, 20)])), [3, 6, 20]);
}

/// Buttazzo, "Hard Real-Time Computing Systems", response time analysis under deadline monotonic
/// priorities: the fourth task.
#[test]
fn buttazzo_deadline_monotonic() {
    let with = |task: Task, deadline| task.with_deadline(Duration(deadline)).unwrap();
    let tasks =
        [with(task(1, 4), 3), with(task(1, 5), 4), with(task(2, 6), 5), with(task(1, 11), 10)];
    let workload = Workload::new(&tasks);
    assert_eq!(times(&workload), [1, 2, 4, 10]);
    assert_eq!(schedulable(&workload), Ok(()));
}

/// Lehoczky, "Fixed Priority Scheduling of Periodic Task Sets with Arbitrary Deadlines", RTSS
/// 1990: with C = 26, 62 and T = 70, 100 the fifth job takes longest. The first one takes 114.
#[test]
fn lehoczky_longest_response_is_not_the_first() {
    let tasks = [task(26, 70), task(62, 100).with_deadline(Duration(120)).unwrap()];
    let workload = Workload::new(&tasks);
    let bound = response_times(&workload)[1].unwrap();
    assert_eq!((bound.time, bound.jobs), (Duration(118), 5));
    assert_eq!(schedulable(&workload), Ok(()));
    let tasks = [tasks[0], tasks[1].with_deadline(Duration(117)).unwrap()];
    assert!(schedulable(&Workload::new(&tasks)).is_err());
}

/// Chen et al., "Many suspensions, many problems", Real-Time Systems 55 (2019): C = 1, 5, 1 and
/// T = 2, 20, any, where the second one suspends itself for 5. The lowest can take 22; with the
/// suspension as jitter in place of `R - C` the analysis would say 12.
#[test]
fn chen_suspension_is_not_the_jitter() {
    let suspends = task(5, 20).with_suspension(Duration(5)).unwrap();
    let tasks = [task(1, 2), suspends, task(1, 50)];
    assert_eq!(times(&Workload::new(&tasks)), [1, 20, 22]);
    let wrong = [task(1, 2), task(5, 20).with_jitter(Duration(5)).unwrap(), task(1, 50)];
    assert_eq!(times(&Workload::new(&wrong))[2], 12);
}

/// Shin and Lee, "Periodic Resource Model for Compositional Real-Time Guarantees", RTSS 2003: the
/// supply of 3 in each 5 in the worst case, after 2 (T - C) without.
#[test]
fn shin_lee_supply_of_three_in_five() {
    let supply = ServerSupply::new(server(Kind::Periodic, 3, 5));
    assert_eq!(supply.blackout(), Duration(4));
    let amounts: Vec<u64> = (0..=16).map(|t| supply.in_window(Duration(t)).0).collect();
    assert_eq!(amounts, [0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 6, 6, 7, 8]);
    let linear: Vec<u64> = (0..=16).map(|t| supply.in_window_linear(Duration(t)).0).collect();
    assert_eq!(linear, [0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 6, 6, 7]);
}

/// Strosnider, Lehoczky and Sha, "The Deferrable Server Algorithm", IEEE ToC 1995: a deferrable
/// server takes its budget twice in a row, a periodic or sporadic one does not.
#[test]
fn strosnider_two_budgets_back_to_back() {
    for (kind, expected) in [(Kind::Deferrable, 7), (Kind::Periodic, 5), (Kind::Sporadic, 5)] {
        let responses = vcpu::response_times(&[server(kind, 2, 6), server(Kind::Periodic, 3, 10)]);
        assert_eq!(responses[1], Ok(Duration(expected)));
    }
}

/// vCache, Eq. 2, by hand: 2 ms in each 5 ms, tasks (1, 20) and (3, 40). The lower one: 3 + 1 and
/// two budgets, three gaps of 3.
#[test]
fn vcache_two_levels_by_hand() {
    let tasks = [task(1, 20), task(3, 40)];
    let server = server(Kind::Sporadic, 2, 5);
    assert_eq!(times(&vcache::workload(&tasks, server, None)), [7, 13]);
    // A VCPU that is the first one on its PCPU waits for one gap less.
    let supply = ServerSupply::with_response(server, Duration(2)).unwrap();
    let workload = Workload::new(&tasks).with_supply(Supply::Server(supply));
    assert_eq!(times(&workload), [4, 10]);
}

/// vCache, Eq. 3: what is evicted counts once, whichever of the tasks between had it, and only
/// that which the preempting task can evict.
#[test]
fn vcache_delay_is_that_of_the_union() {
    let sets = ["0-3", "2-5", "3,6", "0"].map(|text| text.parse::<ColorSet>().unwrap());
    let caches = Caches::new(&sets, Duration(10));
    assert_eq!([1, 2, 3].map(|j| caches.delay(0, j).0), [20, 20, 30]);
    assert_eq!([2, 3].map(|j| caches.delay(1, j).0), [10, 10]);
    assert_eq!(caches.delay(2, 3), Duration(0));
    assert_eq!(caches.delay(3, 3), Duration(0), "the lowest one preempts nobody");
    // Eq. 4: each task with what it costs the lowest one and those between.
    let tasks = [task(10, 100), task(20, 200), task(30, 300), task(40, 400)];
    let expected = [(40, 100), (30, 200), (30, 300), (40, 400)];
    let expected = expected.map(|(time, period)| Share::up(Duration(time), Duration(period)));
    assert_eq!(utilization(&tasks, Some(&caches)), expected.into_iter().sum());
}
