//! Budgets by response times, against what trying all of them finds and what is published.

use std::collections::BTreeSet;

use analysis::memory::budget::{self, Critical, Share, largest};
use analysis::memory::published::{self, Task as Published};
use analysis::memory::{Bus, Contention, Curve, Interferer, Reservation, Staircase};
use analysis::response::{Workload, response_times};
use analysis::supply::{ServerSupply, Supply};
use analysis::{Duration, Failure, Kind, Server, Task};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const L: Duration = Duration(64);

fn task(wcet: u64, period: u64) -> Task {
    Task::new(Duration(wcet), Duration(period)).unwrap()
}

fn share(pcpu: u32, period: u64, weight: u64, overshoot: u64) -> Share {
    let pcpus = BTreeSet::from([pcpu]);
    Share { pcpus, overshoot, period: Duration(period), weight, compensation: 1 }
}

fn critical<'a>(tasks: &'a [Task], accesses: &'a [Option<u64>]) -> Critical<'a> {
    Critical {
        pcpu: 0,
        workload: Workload::new(tasks),
        accesses,
        reload: 0,
        throttle: None,
        others: &[],
        counts: true,
    }
}

#[test]
fn section_5_2_with_more_than_one_core_and_with_accesses() {
    let tasks = [task(10_380 * MS, 12_000 * MS).with_deadline(Duration(11_380 * MS)).unwrap()];
    let bus = Bus::ideal(L);
    let found = |accesses: &[Option<u64>], shares: &[Share]| {
        largest(&[critical(&tasks, accesses)], shares, &bus)
    };
    let one = |pcpu| share(pcpu, 10 * MS, 1, 0);
    // As published, where nothing is known of the task.
    assert_eq!(found(&[None], &[one(1)]), Some(vec![13_718]));
    // Two cores get half of it each, or as the weights say.
    assert_eq!(found(&[None], &[one(1), one(2)]), Some(vec![6_859; 2]));
    let weighted = [share(1, 10 * MS, 2, 0), share(2, 10 * MS, 1, 0)];
    assert_eq!(found(&[None], &weighted), Some(vec![9_145, 4_572]));
    // On its own PCPU nobody interferes.
    assert_eq!(found(&[None], &[one(0)]), Some(vec![10 * MS / 64]));
    // With 15 million accesses the task needs no budgets: they can cost 0.96 s. With 16 million it
    // needs the same as if nothing were known.
    assert_eq!(found(&[Some(15_000_000)], &[one(1)]), Some(vec![10 * MS / 64]));
    assert_eq!(found(&[Some(16_000_000)], &[one(1)]), Some(vec![13_718]));
    // Two cores cost twice as much; then one budget is enough that the other needs none.
    assert_eq!(found(&[Some(15_000_000)], &[one(1), one(2)]), Some(vec![6_859; 2]));
    // With credits for two periods there can be one budget more in a window.
    let credited = Share { compensation: 2, ..one(1) };
    assert_eq!(found(&[None], &[credited]), Some(vec![13_706]));
}

#[test]
fn without_slack_there_is_no_budget() {
    let tasks = [task(10, 10)];
    let found = largest(&[critical(&tasks, &[None])], &[share(1, 10, 1, 0)], &Bus::ideal(L));
    assert_eq!(found, None);
}

#[test]
fn what_nothing_limits_has_no_bound() {
    let tasks = [task(10, 100), task(10, 200)];
    let interferers = [Interferer { pcpus: 1, limit: None }];
    let bounds = |accesses: &[Option<u64>]| {
        let (bus, reload, throttle) = (Bus::ideal(Duration(2)), 0, None);
        let contention = Contention { bus, accesses, reload, interferers: &interferers, throttle };
        let found = response_times(&Workload::new(&tasks).with_contention(contention));
        found.into_iter().map(|it| it.map(|it| it.time.0)).collect::<Vec<_>>()
    };
    let unlimited = |task| Err(Failure::Interference { task });
    assert_eq!(bounds(&[Some(3), Some(4)]), [Ok(16), Ok(34)]);
    assert_eq!(bounds(&[Some(3), None]), [Ok(16), unlimited(1)]);
    assert_eq!(bounds(&[None, Some(4)]), [unlimited(0), unlimited(1)]);
}

#[test]
fn an_access_at_the_end_of_a_period_delays_after_it() {
    // A budget of 3 accesses of 2 ns in each 20 ns. The bus is busy with an access of the task when
    // the other PCPU makes its third access, just before a period ends: it is served after that,
    // from 20 to 22, and those of the next two periods at once after each other, and at 40.
    let reservation = Reservation::new(3, Duration(20)).unwrap();
    let served = [(15u64, 17u64), (17, 19), (20, 22), (22, 24), (24, 26), (26, 28), (40, 42)];
    let window = (15, 41);
    let waits: u64 = served.iter().map(|&(from, to)| to.min(window.1) - from.max(window.0)).sum();
    let length = Duration(window.1 - window.0);
    assert_eq!((waits, length), (13, Duration(26)));
    // As published 12 ns are the most of 26 ns.
    assert_eq!(Staircase::new(&reservation, Duration(2)).at(length), Duration(12));
    let bus = Bus { lateness: Duration(4), ..Bus::ideal(Duration(2)) };
    assert!(Curve::new(&reservation, &bus).at(length) >= Duration(waits));
}

/// Tasks with their accesses, the highest priority first.
fn tasks() -> impl Strategy<Value = Vec<(Task, u64)>> {
    let task = (1u64..10, 10u64..120, 0u64..8)
        .prop_map(|(wcet, period, accesses)| (task(wcet.min(period), period), accesses));
    prop::collection::vec(task, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn algorithm_1_is_the_same_without_what_it_does_not_have(
        tasks in tasks(), budgets in prop::collection::vec((0u64..6, 1u64..40), 0..4),
        latency in 1u64..4,
    ) {
        let latency = Duration(latency);
        let (models, accesses): (Vec<_>, Vec<_>) = tasks.iter().copied().unzip();
        let accesses: Vec<_> = accesses.into_iter().map(Some).collect();
        let reservation = |&(budget, period): &(u64, u64)| {
            Reservation::new(budget, Duration(period)).unwrap()
        };
        let bus = Bus::ideal(latency);
        let interferer = |it: &(u64, u64)| {
            Interferer { pcpus: 1, limit: Some(vec![Curve::new(&reservation(it), &bus)]) }
        };
        let interferers: Vec<_> = budgets.iter().map(interferer).collect();
        let (interferers, throttle) = (&interferers[..], None);
        let contention = Contention { bus, accesses: &accesses, reload: 0, interferers, throttle };
        let ours = response_times(&Workload::new(&models).with_contention(contention));
        let published: Vec<_> = tasks.iter().map(|(task, accesses)| Published {
            wcet: task.wcet(),
            period: task.period(),
            deadline: task.deadline(),
            accesses: *accesses,
        }).collect();
        let curves: Vec<_> =
            budgets.iter().map(|it| Staircase::new(&reservation(it), latency)).collect();
        for (index, (ours, task)) in ours.iter().zip(&models).enumerate() {
            let theirs = published::response_time(&published[..=index], &curves, latency);
            let in_time = ours.ok().map(|it| it.time).filter(|time| *time <= task.deadline());
            prop_assert_eq!(in_time, theirs);
        }
    }

    #[test]
    fn no_larger_budgets_are_found_by_trying(
        tasks in tasks(), known in any::<bool>(), latency in 1u64..4, server in (1u64..30, 0u64..9),
        shares in prop::collection::vec((1u32..3, 1u64..30, 1u64..4), 1..3), overshoot in 0u64..2,
        lateness in 0u64..5,
    ) {
        let latency = Duration(latency);
        let bus = Bus { latency, overshoot, lateness: Duration(lateness), in_flight: 1 };
        let (models, accesses): (Vec<_>, Vec<_>) = tasks.iter().copied().unzip();
        let accesses: Vec<_> = accesses.into_iter().map(|it| known.then_some(it)).collect();
        let period = Duration(server.0 + server.1);
        let server = Server::new(Kind::Periodic, Duration(server.0), period).unwrap();
        let supply = Supply::Server(ServerSupply::new(server));
        let workload = Workload::new(&models).with_supply(supply);
        let critical = [Critical { workload, ..critical(&models, &accesses) }];
        let shares: Vec<_> =
            shares.iter().map(|&(pcpu, period, weight)| share(pcpu, period, weight, overshoot)).collect();
        let found = largest(&critical, &shares, &bus);
        // One share alone: all budgets are tried.
        let alone = &shares[..1];
        let fits = |accesses: u64| {
            let reservation = Reservation::new(accesses, alone[0].period).unwrap();
            let limit = Some(vec![Curve::new(&reservation, &bus)]);
            let interferers = [Interferer { pcpus: 1, limit }];
            let accesses = critical[0].accesses;
            let (reload, interferers, throttle) = (0, &interferers[..], None);
            let contention = Contention { bus, accesses, reload, interferers, throttle };
            let found = response_times(&workload.with_contention(contention));
            let in_time = found.iter().zip(&models);
            in_time.into_iter().all(|(it, task)| it.is_ok_and(|it| it.time <= task.deadline()))
        };
        let most = (alone[0].period.0 / latency.0).max(1);
        let tried = (1..=most).rev().find(|&accesses| fits(accesses));
        let single = largest(&critical, alone, &bus);
        prop_assert_eq!(single.map(|it| it[0]), tried);
        // With another one there is no more for the first one.
        let first = found.map(|it| it[0]);
        prop_assert!(first <= tried, "{:?}, {:?}", first, tried);
    }

    #[test]
    fn never_less_than_published(
        tasks in tasks(), latency in 1u64..4, period in 1u64..30, overshoot in 0u64..2,
        lateness in 0u64..5,
    ) {
        let latency = Duration(latency);
        let bus = Bus { latency, overshoot, lateness: Duration(lateness), in_flight: 1 };
        let (models, accesses): (Vec<_>, Vec<_>) = tasks.iter().copied().unzip();
        let published: Vec<_> = tasks.iter().map(|(task, accesses)| Published {
            wcet: task.wcet(),
            period: task.period(),
            deadline: task.deadline(),
            accesses: *accesses,
        }).collect();
        let by_slack = (1..=tasks.len()).map(|count| {
            let slack = published::slack(&published[..count])?;
            let deadline = published[count - 1].deadline;
            budget::of_slack_in_practice(deadline, slack, Duration(period), &bus)
        });
        let by_slack = by_slack.collect::<Option<Vec<_>>>().and_then(|it| it.into_iter().min());
        let accesses: Vec<_> = accesses.into_iter().map(Some).collect();
        let found = largest(&[critical(&models, &accesses)], &[share(1, period, 1, overshoot)], &bus);
        if let Some(by_slack) = by_slack.filter(|it| *it > 0) {
            let first = found.map(|it| it[0]);
            prop_assert!(first >= Some(by_slack), "{:?}, {}", first, by_slack);
        }
    }
}
