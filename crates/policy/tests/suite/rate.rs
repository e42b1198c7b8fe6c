//! How often a VCPU may enter global critical sections (`policy::rate`).

use policy::rate::Rate;
use policy::time::{Duration, Instant};
use proptest::prelude::*;

/// Asks at these times: those at which it was let in.
fn let_in(rate: Rate, times: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut from = Rate::START;
    let is_let_in = |time: &u64| {
        let now = Instant(*time);
        let may = Rate::may_enter(from, now);
        if may {
            from = rate.enter(from, now);
        }
        may
    };
    times.into_iter().filter(is_let_in).collect()
}

#[test]
fn some_come_early_and_the_others_wait() {
    let rate = Rate::new(Duration(10), Duration(25));
    assert_eq!(let_in(rate, 0..60), [0, 1, 2, 5, 15, 25, 35, 45, 55]);
    // Nothing is saved up beyond that.
    assert_eq!(let_in(rate, 1_000..1_010), [1_000, 1_001, 1_002, 1_005]);
    assert_eq!(let_in(Rate::new(Duration(10), Duration(0)), 3..40), [3, 13, 23, 33]);
    assert_eq!(Rate::from_parts(rate.parts()), rate);
}

#[test]
fn extremes_do_not_overflow() {
    let last = Instant(i64::MAX as u64 / 2);
    for (interval, early) in [(0, 0), (u64::MAX, 0), (0, u64::MAX), (u64::MAX, u64::MAX)] {
        let rate = Rate::new(Duration(interval), Duration(early));
        for now in [Instant(0), last] {
            let from = rate.enter(Rate::START, now);
            assert!(from > Rate::START, "{interval} {early}");
            assert_eq!(Rate::may_enter(from, now), interval <= early, "{interval} {early}");
        }
    }
    assert!(!Rate::may_enter(Rate::NEVER, last));
    assert!(Rate::may_enter(Rate::START, Instant(0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_window_has_more_than_it_says(
        interval in 1u64..50,
        early in 0u64..200,
        steps in prop::collection::vec(prop_oneof![Just(0u64), 0u64..4, 0u64..100], 1..120),
    ) {
        let rate = Rate::new(Duration(interval), Duration(early));
        let times = steps.iter().scan(0, |now, step| { *now += step; Some(*now) });
        let entries = let_in(rate, times);
        for (index, first) in entries.iter().enumerate() {
            for (others, last) in entries[index..].iter().enumerate() {
                let most = (last - first + early) / interval;
                prop_assert!(others as u64 <= most, "{first}..={last}");
            }
        }
    }

    /// Nobody is refused who asks no more often than that.
    #[test]
    fn whoever_keeps_to_it_is_let_in(
        interval in 1u64..50,
        early in 0u64..200,
        late in prop::collection::vec(0u64..=200, 1..60),
    ) {
        let rate = Rate::new(Duration(interval), Duration(early));
        let times = late.iter().enumerate().map(|(job, late)| {
            job as u64 * interval + late.min(&early)
        });
        let mut times: Vec<u64> = times.collect();
        times.sort_unstable();
        prop_assert_eq!(let_in(rate, times.iter().copied()), times);
    }
}
