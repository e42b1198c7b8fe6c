//! What compensation gives, and what a critical side has to bear with it: never more than without,
//! counted from a reset or a flush on.

use policy::bandwidth::{Compensation, Grant, Parameters, ParametersError, Pool};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

const PERIOD: u64 = 10;

fn pool(budget: u64, cpus: u64, periods: u32, sides: u64) -> Pool {
    let (period, start) = (Duration(PERIOD), Instant(0));
    let pool = Pool::new(Parameters { budget, period, start }, cpus).unwrap();
    pool.with_compensation(Compensation::new(periods, sides).unwrap())
}

/// Takes all that there is.
fn all(pool: &mut Pool, now: u64) -> u64 {
    let takes = || pool.take(0, Instant(now)).accesses;
    std::iter::repeat_with(takes).take_while(|&accesses| accesses > 0).sum()
}

/// XenThrottle, section 3.4: "3Q budgets in every 2 periods".
#[test]
fn beside_a_silent_side_there_are_three_budgets_in_two_periods() {
    let mut pool = pool(100, 1, 2, 1);
    let taken: Vec<_> = (0..6)
        .map(|number| {
            pool.report(0, 0, Instant(number * PERIOD));
            all(&mut pool, number * PERIOD + 1)
        })
        .collect();
    assert_eq!(taken, [100, 200, 100, 200, 100, 200]);
}

#[test]
fn credit_grows_until_it_is_reset_and_shrinks_where_it_may_have_been_felt() {
    let mut pool = pool(100, 1, 5, 1);
    let accesses = [0, 30, 130, 150, 1_000, 0, 0];
    let taken: Vec<_> = (1..=7)
        .map(|number| {
            let taken = all(&mut pool, number * PERIOD - 1);
            pool.report(0, accesses[number as usize - 1], Instant(number * PERIOD));
            taken
        })
        .collect();
    assert_eq!(taken, [100, 200, 270, 240, 190, 100, 200]);
}

#[test]
fn the_credit_is_the_least_that_any_side_allows() {
    let mut pool = pool(100, 1, 3, 0b101);
    all(&mut pool, 1);
    pool.report(0, 10, Instant(10));
    pool.report(0, 0, Instant(10));
    pool.report(1, 0, Instant(10));
    pool.report(64, 0, Instant(10));
    assert_eq!(all(&mut pool, 11), 100, "one side has not told yet");
    pool.report(2, 70, Instant(10));
    assert_eq!(all(&mut pool, 12), 30);
    pool.report(2, 0, Instant(10));
    assert_eq!(all(&mut pool, 13), 0, "told once");
}

/// An access of the critical side can wait for one of each CPU.
#[test]
fn beside_several_cpus_each_access_counts_for_all_of_them() {
    let mut pool = pool(100, 2, 2, 1);
    assert_eq!(all(&mut pool, 1), 100);
    pool.report(0, 30, Instant(10));
    assert_eq!(all(&mut pool, 11), 100 + 40);
}

#[test]
fn who_tells_late_or_not_at_all_allows_nothing() {
    let mut pool = pool(100, 1, 4, 1);
    assert_eq!(all(&mut pool, 11), 100);
    pool.report(0, 0, Instant(0));
    assert_eq!(all(&mut pool, 12), 0, "of a period before that");
    assert_eq!(all(&mut pool, 25), 100);
    pool.report(0, 0, Instant(20));
    assert_eq!(all(&mut pool, 26), 100, "in time");
    assert_eq!(all(&mut pool, 31), 100, "and what it had is gone");
    assert_eq!(all(&mut pool, 1_000), 100, "also if nobody asked for long");
}

#[test]
fn a_flush_takes_what_was_saved() {
    let mut pool = pool(100, 1, 4, 1);
    pool.report(0, 0, Instant(10));
    assert_eq!(pool.take(0, Instant(11)).accesses, 100);
    pool.flush(Instant(12));
    assert_eq!(all(&mut pool, 13), 0, "the credit");
    pool.report(0, 20, Instant(20));
    assert_eq!(all(&mut pool, 21), 180, "that of the period itself counts");
    pool.flush(Instant(30));
    pool.report(0, 0, Instant(30));
    assert_eq!(all(&mut pool, 31), 100, "told after the flush");
}

#[test]
fn credit_is_reset_after_a_number_of_periods() {
    let error = Compensation::new(0, 1).unwrap_err();
    assert_eq!(error, ParametersError::NoResets);
    assert_eq!(error.to_string(), "credit is reset after one period at least");
    let mut every = pool(100, 1, 1, 1);
    every.report(0, 0, Instant(10));
    assert_eq!(all(&mut every, 11), 100, "in each period: none");
}

#[derive(Clone, Debug)]
enum Step {
    /// A side makes accesses.
    Access(usize, u64),
    /// The VCPU of the other side on a CPU makes as many as it can, up to this.
    Use(usize, u64),
    /// The VCPU of the other side on a CPU sleeps.
    Sleep(usize),
    /// A side tells of the period before.
    Report(usize),
    Flush,
    /// The period ends.
    End,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let few = prop_oneof![3 => 0u64..80, 1 => Just(0), 1 => Just(1_000)];
    let step = prop_oneof![
        4 => (0usize..3, few.clone()).prop_map(|(side, accesses)| Step::Access(side, accesses)),
        6 => (0usize..3, few).prop_map(|(cpu, accesses)| Step::Use(cpu, accesses)),
        1 => (0usize..3).prop_map(Step::Sleep),
        8 => (0usize..3).prop_map(Step::Report),
        1 => Just(Step::Flush),
        3 => Just(Step::End),
    ];
    prop::collection::vec(step, 1..120)
}

/// Delays of a side since a point in time.
struct Since {
    /// Periods that began since then, with the one in which it was.
    periods: u64,
    /// Most delays per period, and how many there were in those that are over.
    credit: u64,
    delays: u64,
    /// Accesses in the current period: of the sides, and of the CPUs of others.
    accesses: [u64; 3],
    others: [u64; 3],
}

impl Since {
    /// Delays of a side in the current period: each access has one by each CPU at most.
    fn delays(&self, side: usize) -> u64 {
        self.others.iter().map(|&others| others.min(self.accesses[side])).sum()
    }

    fn new(credit: u64) -> Self {
        Self { periods: 1, credit, delays: 0, accesses: [0; 3], others: [0; 3] }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(4_000)))]

    /// From a reset and from a flush on, the end of the `j`th period sees `j Q` delays of each side at
    /// most; from any other period on `(n - 1) Q` more. Others make `j Q` accesses at most in
    /// the `j`th period after a reset.
    #[test]
    fn no_side_has_more_delays_than_without(
        steps in steps(),
        budget in 3u64..60,
        sides in 1usize..4,
        cpus in 1usize..4,
        periods in 1u32..6,
    ) {
        let mut pool = pool(budget, cpus as u64, periods, (1 << sides) - 1);
        let periods = u64::from(periods);
        // For each side all points in time from which it could count.
        let mut since: Vec<Vec<Since>> = (0..sides).map(|_| vec![Since::new(0)]).collect();
        let mut grants = vec![Grant { accesses: 0, until: Instant(0) }; cpus];
        let (mut number, mut others) = (0, 0);
        let (mut last, mut current) = ([0; 3], [0; 3]);
        for step in steps {
            let now = Instant(number * PERIOD);
            match step {
                Step::Access(side, accesses) => {
                    current[side] += accesses;
                    since.iter_mut().flatten().for_each(|since| since.accesses[side] += accesses);
                }
                Step::Use(cpu, accesses) => {
                    let held = &mut grants[cpu % cpus];
                    let mut wanted = accesses;
                    while wanted > 0 {
                        if held.accesses == 0 || held.until <= now {
                            *held = pool.take(0, now);
                        }
                        let uses = wanted.min(held.accesses);
                        if uses == 0 {
                            break;
                        }
                        (held.accesses, wanted) = (held.accesses - uses, wanted - uses);
                        others += uses;
                        since.iter_mut().flatten().for_each(|since| since.others[cpu % cpus] += uses);
                    }
                    prop_assert!(others <= (number % periods + 1) * budget);
                }
                Step::Sleep(cpu) => {
                    let held = &mut grants[cpu % cpus];
                    pool.give_back(*held);
                    held.accesses = 0;
                }
                Step::Report(side) => pool.report(side as u32, last[side], now),
                Step::Flush => {
                    pool.flush(now);
                    since.iter_mut().for_each(|since| since.push(Since::new(0)));
                }
                Step::End => {
                    number += 1;
                    (last, current, others) = (current, [0; 3], 0);
                    let credit = if number % periods == 0 { 0 } else { periods - 1 };
                    for (side, since) in since.iter_mut().enumerate() {
                        for since in &mut *since {
                            since.delays += since.delays(side);
                            let most = (since.periods + since.credit) * budget;
                            prop_assert!(since.delays <= most, "side {side} in period {number}");
                            since.periods += 1;
                            (since.accesses, since.others) = ([0; 3], [0; 3]);
                        }
                        since.push(Since::new(credit));
                    }
                }
            }
        }
    }
}

/// Credits of the published rule, `Q - A` where that is not negative, would be felt more than
/// once: the bound is reached, not exceeded.
#[test]
fn all_of_the_credit_can_hit_at_once() {
    let mut pool = pool(100, 1, 3, 1);
    let (mut delays, accesses) = (0, [0, 0, 1_000, 0]);
    for number in 0..3 {
        delays += all(&mut pool, number * PERIOD).min(accesses[number as usize]);
        pool.report(0, accesses[number as usize], Instant((number + 1) * PERIOD));
    }
    assert_eq!(delays, 300);
}
