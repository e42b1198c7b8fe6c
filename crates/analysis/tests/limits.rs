//! Numbers at the ends of what can be analysed, and beyond.

use std::time::Instant;

use analysis::response::{Analyzer, Workload, response_times, schedulable};
use analysis::supply::{ServerSupply, Supply};
use analysis::{
    Caches, Duration, Failure, Kind, LONGEST, Limits, Server, ServerError, Task, TaskError, vcpu,
};
use policy::color::ColorSet;
use taskgen::Random;

fn task(wcet: u64, period: u64) -> Task {
    Task::new(Duration(wcet), Duration(period)).unwrap()
}

#[test]
fn there_is_no_task_and_no_server_of_impossible_numbers() {
    let zero = Duration(0);
    let one = Duration(1);
    let long = Duration(LONGEST.0 + 1);
    assert_eq!(Task::new(zero, one), Err(TaskError::NoWcet));
    assert_eq!(Task::new(one, zero), Err(TaskError::NoPeriod));
    assert_eq!(Task::new(one, long), Err(TaskError::TooLong(long)));
    assert_eq!(Task::new(long, one), Err(TaskError::TooLong(long)));
    assert_eq!(task(1, 1).with_deadline(zero), Err(TaskError::NoDeadline));
    assert_eq!(task(1, 1).with_jitter(long), Err(TaskError::TooLong(long)));
    assert_eq!(Server::new(Kind::Periodic, zero, one), Err(ServerError::NoBudget));
    let (budget, period) = (Duration(2), one);
    let more = Err(ServerError::MoreThanPeriod { budget, period });
    assert_eq!(Server::new(Kind::Periodic, budget, period), more);
    assert_eq!(Server::new(Kind::Periodic, one, long), Err(ServerError::TooLong(long)));
}

#[test]
fn overload_has_no_bound() {
    let tasks = [task(3, 5), task(3, 7), task(1, 1_000)];
    let found = response_times(&Workload::new(&tasks));
    assert_eq!(found[0].map(|it| it.time), Ok(Duration(3)));
    assert_eq!(found[1..], [1, 2].map(|task| Err(Failure::Overload { task })));
    assert!(matches!(
        schedulable(&Workload::new(&tasks)),
        Err(Failure::Unschedulable { task: 1, at_least, deadline: Duration(7) })
            if at_least > Duration(7)
    ));
    // More than its VCPU gets, though not more than a processor.
    let server = Server::new(Kind::Deferrable, Duration(2), Duration(5)).unwrap();
    let supply = Supply::Server(ServerSupply::new(server));
    let found = response_times(&Workload::new(&tasks[..1]).with_supply(supply));
    assert_eq!(found, [Err(Failure::Overload { task: 0 })]);
    // Or than those above leave.
    let above = [Server::new(Kind::Periodic, Duration(3), Duration(6)).unwrap()];
    let found = response_times(&Workload::new(&tasks[..1]).with_supply(Supply::Leftover(&above)));
    assert_eq!(found, [Err(Failure::Overload { task: 0 })]);
    // What tasks cost each other in the cache is time too.
    let sets = [ColorSet::first(1); 2];
    let tasks = [task(1, 4), task(1, 4)];
    let caches = Caches::new(&sets, Duration(3));
    let found = response_times(&Workload::new(&tasks).with_caches(caches));
    assert_eq!(found[1], Err(Failure::Overload { task: 1 }));
}

#[test]
fn searches_end() {
    // With all of the time taken, blocking is never made up for.
    let tasks = [task(1, 2), task(1, 2).with_blocking(Duration(1)).unwrap()];
    assert_eq!(response_times(&Workload::new(&tasks))[1], Err(Failure::LimitReached { task: 1 }));
    let passes = Limits { passes: 3, ..Limits::default() };
    let slow = [task(1, 3), task(1, 4), task(4, 100)];
    let found = Analyzer::new(passes).schedulable(&Workload::new(&slow));
    assert_eq!(found, Err(Failure::LimitReached { task: 2 }));
    let window = Limits { window: Duration(5), ..Limits::default() };
    let found = Analyzer::new(window).schedulable(&Workload::new(&slow));
    assert_eq!(found, Err(Failure::LimitReached { task: 2 }));
    // One that suspends itself and has no bound leaves none for those below.
    let tasks = [task(2, 2).with_suspension(Duration(1)).unwrap(), task(1, 100)];
    let found = response_times(&Workload::new(&tasks));
    assert_eq!(found[0], Err(Failure::Overload { task: 0 }));
    assert_eq!(found[1], Err(Failure::Depends { task: 1, on: 0 }));
}

/// Random tasks of all kinds on supplies of all kinds: who has no bound needs more time than there is, and who needs
/// less has one.
#[test]
fn overload_is_called_overload() {
    let mut counts = [0; 4];
    for set in 0..4_000 {
        let mut random = Random::new(17, set);
        let server = |random: &mut Random| {
            let kinds = [Kind::Periodic, Kind::Deferrable, Kind::Sporadic];
            let kind = kinds[random.between(0, 2) as usize];
            let period = random.between(2, 20);
            Server::new(kind, Duration(random.between(1, period)), Duration(period)).unwrap()
        };
        let one = server(&mut random);
        let late = random.between(one.budget().0, one.period().0);
        let above = [one];
        let rate = one.budget().0 as f64 / one.period().0 as f64;
        let (supply, mut has) = match random.between(0, 2) {
            0 => (Supply::Whole, 1.0),
            1 => (Supply::Server(ServerSupply::with_response(one, Duration(late)).unwrap()), rate),
            _ => (Supply::Leftover(&above), 1.0 - rate),
        };
        let is_server = matches!(supply, Supply::Server(_));
        let count = random.between(1, 4) as usize;
        let maybe = |random: &mut Random, most: u64| random.between(0, 1) * random.between(0, most);
        let tasks: Vec<Task> = (0..count)
            .map(|_| {
                // Primes, so that no demand is exactly the supply.
                let period = [31, 53, 101, 211][random.between(0, 3) as usize];
                let task = task(random.between(1, period / 4), period);
                let task = task.with_suspension(Duration(maybe(&mut random, period))).unwrap();
                let task = task.with_blocking(Duration(maybe(&mut random, 9))).unwrap();
                task.with_jitter(Duration(maybe(&mut random, 2 * period))).unwrap()
            })
            .collect();
        let sets: Vec<_> =
            (0..count).map(|_| ColorSet::first(random.between(0, 2) as u32)).collect();
        let reload = random.between(0, 1) * random.between(0, 3);
        let caches = Caches::new(&sets, Duration(reload));
        let workload = Workload::new(&tasks).with_supply(supply).with_caches(caches);
        let mut failed = false;
        for (index, found) in response_times(&workload).into_iter().enumerate() {
            let task = &tasks[index];
            let suspends = task.suspension().0 > 0;
            if suspends && is_server && one.kind() == Kind::Sporadic {
                // It gets its budget once in `C + 2 ((T - C) + (W - C))`.
                let gap = one.gap().0 + late - one.budget().0;
                has = one.budget().0 as f64 / (one.budget().0 + 2 * gap) as f64;
            } else if is_server {
                has = rate;
            }
            let part = |h: usize| {
                let evicts: u64 = (h + 1..=index)
                    .map(|below| u64::from((sets[h] & sets[below]).len()))
                    .max()
                    .unwrap_or(0);
                let again = tasks[h].suspension().0 + tasks[h].blocking().0;
                let again =
                    if tasks[h].suspension().0 > 0 && evicts * reload > 0 { again } else { 0 };
                (tasks[h].wcet().0 + evicts * reload + again) as f64 / tasks[h].period().0 as f64
            };
            let waits = if suspends { task.suspension().0 + task.blocking().0 } else { 0 };
            let own = (task.wcet().0 + waits) as f64 / task.period().0 as f64;
            let needs = own + (0..index).map(part).sum::<f64>();
            match found {
                Ok(_) => assert!(needs <= has + 1e-9, "{index}: {workload:?}"),
                Err(Failure::Overload { .. }) => assert!(needs > has, "{index}: {workload:?}"),
                Err(Failure::Depends { .. }) => assert!(failed, "{index}: {workload:?}"),
                Err(failure) => assert!((needs - has).abs() < 1e-9, "{failure}: {workload:?}"),
            }
            failed |= found.is_err() && suspends;
            counts[match found {
                Ok(_) => 0,
                Err(Failure::Overload { .. }) => 1,
                Err(Failure::Depends { .. }) => 2,
                Err(_) => 3,
            }] += 1;
        }
    }
    println!("bounds, overload, depends, others: {counts:?}");
    assert!(counts[..3].iter().all(|count| *count > 1_000) && counts[3] < 100, "{counts:?}");
}

#[test]
fn the_longest_times_do_not_overflow() {
    let Duration(longest) = LONGEST;
    let third = task(longest / 3, longest);
    let found = response_times(&Workload::new(&[third; 4]));
    let times = found.iter().map(|it| it.map(|it| it.time.0));
    let mut expected: Vec<_> = (1..=3).map(|count| Ok(longest / 3 * count)).collect();
    // All of the time but one nanosecond is gone.
    expected.push(Err(Failure::Overload { task: 3 }));
    assert_eq!(times.collect::<Vec<_>>(), expected);
    let all = task(longest, longest);
    let most = all.with_jitter(LONGEST).unwrap().with_blocking(LONGEST).unwrap();
    let most = most.with_suspension(LONGEST).unwrap();
    for tasks in [[all, all], [most, most], [all, most], [task(longest, 1), most]] {
        for supply in [1, longest / 2, longest] {
            let server = Server::new(Kind::Deferrable, Duration(supply), LONGEST).unwrap();
            let sets = [ColorSet::first(64); 2];
            let workload = Workload::new(&tasks)
                .with_supply(Supply::Server(ServerSupply::new(server)))
                .with_caches(Caches::new(&sets, Duration(u64::MAX)));
            assert!(schedulable(&workload).is_err());
            assert!(response_times(&workload)[1].is_err());
        }
    }
    let server = Server::new(Kind::Deferrable, Duration(longest / 2 + 1), LONGEST).unwrap();
    let found = vcpu::response_times(&[server; 3]);
    assert!(found[0].is_ok() && found[1].is_err() && found[2].is_err());
}

#[test]
fn short_periods_below_long_ones_take_few_steps() {
    // A window of a million periods of the first task.
    let tasks = [task(999_999, 1_000_000), task(1_000_000, 10_000_000_000_000)];
    let found = response_times(&Workload::new(&tasks))[1].unwrap();
    assert_eq!(found.time, Duration(1_000_000_000_000));
}

#[test]
fn ten_thousand_tasks_are_analysed() {
    let count = 10_000;
    let tasks: Vec<_> = (0..count).map(|number| task(90, 1_000_000 + 50 * number)).collect();
    let start = Instant::now();
    let found = response_times(&Workload::new(&tasks));
    assert_eq!(schedulable(&Workload::new(&tasks)), Ok(()));
    assert_eq!(found[count as usize - 1].unwrap().time, Duration(90 * count));
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    // And as many VCPUs.
    let server = Server::new(Kind::Sporadic, Duration(90), Duration(1_000_000)).unwrap();
    let found = vcpu::response_times(&vec![server; count as usize]);
    assert_eq!(found[count as usize - 1], Ok(Duration(90 * count)));
}

#[test]
fn delays_that_are_too_long_do_not_overflow() {
    // 32 tasks whose jobs come in crowds, 2^60 of them in any window, and cost 2^63 each: 2^128.
    let crowd = task(1, 1).with_jitter(LONGEST).unwrap();
    let mut tasks = vec![crowd; 32];
    tasks.push(task(1, 1_000));
    let sets = vec![ColorSet::first(1); tasks.len()];
    for delay in [(1 << 63) - 1, u64::MAX] {
        let workload = Workload::new(&tasks).with_caches(Caches::new(&sets, Duration(delay)));
        assert!(schedulable(&workload).is_err());
        assert!(response_times(&workload)[32].is_err());
    }
    let suspends = task(1, 10).with_suspension(LONGEST).unwrap();
    let tasks = [suspends.with_blocking(LONGEST).unwrap(), task(1, 1_000)];
    let workload = Workload::new(&tasks).with_caches(Caches::new(&sets, Duration(u64::MAX)));
    assert!(response_times(&workload)[1].is_err());
}
