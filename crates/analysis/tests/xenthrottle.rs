//! The numbers of the XenThrottle thesis, and budgets against what trying all of them finds.

use analysis::Duration;
use analysis::memory::published::{self, Task};
use analysis::memory::{Bus, Reservation, Staircase, budget};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const L: Duration = Duration(64);

/// Section 5.2: 429.mcf, which takes 10.38 s alone, with a deadline 1 s after that.
fn mcf() -> Task {
    let (wcet, deadline) = (Duration(10_380 * MS), Duration(11_380 * MS));
    Task { wcet, period: deadline, deadline, accesses: u64::MAX }
}

fn staircase(accesses: u64, period: Duration, latency: Duration) -> Staircase {
    Staircase::new(&Reservation::new(accesses, period).unwrap(), latency)
}

#[test]
fn section_5_2_the_budget_of_429_mcf() {
    let period = Duration(10 * MS);
    assert_eq!(published::slack(&[mcf()]), Some(Duration(1_000 * MS)));
    let found = published::budget(&[mcf()], period, L, 1e-6).unwrap();
    assert_eq!(format!("{found:.2}"), "13718.17");
    // Exactly, as a fraction; and the 13718 accesses with which the thesis goes on.
    let exact = budget::of_slack(mcf().deadline, Duration(1_000 * MS), period, L).unwrap();
    assert_eq!((exact.numerator, exact.denominator), (15_625_000, 1_139));
    assert_eq!(exact.whole(), 13_718);
    // With it the task is in time, with one access more in each period it is not.
    let response =
        |accesses| published::response_time(&[mcf()], &[staircase(accesses, period, L)], L);
    assert!(response(13_718).is_some_and(|time| time <= mcf().deadline));
    assert_eq!(response(13_719), None);
    // The execution time beside such a neighbour (Eq. 3.1 and 3.2) is the same: no task is above.
    let curve = staircase(13_718, period, L);
    let delay = published::delay_while_running(mcf().wcet, &curve).unwrap();
    assert_eq!(published::wcet(&mcf(), &[curve], L), Some(Duration(mcf().wcet.0 + delay.0)));
    assert_eq!(response(13_718), published::wcet(&mcf(), &[curve], L));
}

#[test]
fn section_5_2_the_other_benchmarks() {
    // 470.lbm has 1.5 s until its deadline of 15.5 s.
    let (window, slack) = (Duration(15_500 * MS), Duration(1_500 * MS));
    let exact = budget::of_slack(window, slack, Duration(10 * MS), L).unwrap();
    assert_eq!((exact.numerator, exact.denominator), (1_500_000_000 / 3 / 64, 1_551 / 3));
}

#[test]
fn a_budget_to_use_allows_for_late_regulators() {
    let bus = Bus { overshoot: 200, ..Bus::ideal(L) };
    let (window, slack, period) = (mcf().deadline, Duration(1_000 * MS), Duration(10 * MS));
    let used = |slack, bus| budget::of_slack_in_practice(window, slack, period, bus);
    // 12.8 us of the second are gone: 13717.998.
    assert_eq!(used(slack, &bus), Some(13_717));
    // And a part of one more period: 13705.96.
    let bus = Bus { lateness: Duration(2 * MS), ..bus };
    assert_eq!(used(slack, &bus), Some(13_705));
    assert_eq!(used(Duration(12_799), &bus), None);
}

#[test]
fn several_tasks_get_the_least_budget() {
    let task = |wcet, period, deadline| Task {
        wcet: Duration(wcet * MS),
        period: Duration(period * MS),
        deadline: Duration(deadline * MS),
        accesses: u64::MAX,
    };
    let tasks = [task(10, 40, 30), task(20, 120, 100), task(30, 500, 400)];
    // 100 - 20 - 3 x 10, and 400 - 30 - 4 x 20 - 10 x 10.
    let slacks = (1..=3).map(|count| published::slack(&tasks[..count]).unwrap().0 / MS);
    assert_eq!(slacks.collect::<Vec<_>>(), [20, 50, 190]);
    let budgets = (1..=3).map(|count| published::budget(&tasks[..count], Duration(MS), L, 1e-6));
    let budgets: Vec<_> = budgets.map(Option::unwrap).collect();
    let all = published::budget_of_all(&tasks, Duration(MS), L, 1e-6);
    assert_eq!(all, Some(budgets[2]));
    assert!(budgets[2] < budgets[1] && budgets[1] < budgets[0]);
    // No slack, no budget.
    assert_eq!(published::budget_of_all(&[task(30, 40, 29)], Duration(MS), L, 1e-6), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_largest_budget_is_found(
        window in 1u64..150, slack in 0u64..150, period in 1u64..40, latency in 1u64..5,
    ) {
        let exact =
            budget::of_slack(Duration(window), Duration(slack), Duration(period), Duration(latency));
        let exact = exact.unwrap();
        let fits = |accesses: u64, latency: u64, scale: u64| {
            let curve = staircase(accesses, Duration(period * scale), Duration(latency));
            curve.at(Duration(window * scale)).0 <= slack * scale
        };
        let most = period / latency;
        let tried = (0..=most).rev().find(|&accesses| fits(accesses, latency, 1)).unwrap();
        prop_assert_eq!(exact.whole().min(most), tried);
        // To the fraction: with times in units in which the step is a whole number.
        let scale = u64::try_from(exact.denominator).unwrap();
        let step = u64::try_from(exact.numerator).unwrap() * latency;
        prop_assert!(fits(step, 1, scale));
        if exact.numerator * u128::from(latency) < u128::from(period) * exact.denominator {
            prop_assert!(!fits(step * 1_000 + 1, 1, scale * 1_000));
        }
        // The bisection comes to the same.
        if slack > 0 && slack < window {
            let task = Task {
                wcet: Duration(window - slack),
                period: Duration(window),
                deadline: Duration(window),
                accesses: u64::MAX,
            };
            let found = published::budget(&[task], Duration(period), Duration(latency), 1e-9);
            let expected = exact.numerator as f64 / exact.denominator as f64;
            prop_assert!((found.unwrap() - expected).abs() < 1e-6, "{:?}, {}", found, expected);
        }
    }
}
