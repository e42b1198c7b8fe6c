//! What regulators with compensation let through, tick by tick: no window has more than its curve.

use analysis::Duration;
use analysis::memory::{Bus, Curve, Reservation, Staircase, compensation};
use proptest::prelude::*;

/// In a tick: whether the critical side makes an access, whether the other side does, and whether
/// the first one waits for the second one, which takes the tick.
type Tick = (bool, bool);

/// What a regulator with compensation leaves of these wishes; accesses in each tick.
fn regulate(wishes: &[Tick], budget: u64, period: usize, n: u32, phase: u32) -> Vec<Tick> {
    let mut made = Vec::with_capacity(wishes.len());
    let (mut now, mut since) = (budget, phase % n);
    for wishes in wishes.chunks(period) {
        let (mut left, mut critical) = (now, 0);
        for &(access, other) in wishes {
            let other = other && left > 0;
            left -= u64::from(other);
            critical += u64::from(access);
            made.push((access, other));
        }
        since += 1;
        now = if since % n == 0 { budget } else { budget + now.saturating_sub(critical) };
    }
    made
}

/// The most ticks that count of windows of each length, from 0.
fn most(ticks: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut sums = vec![0];
    sums.extend(ticks.scan(0, |sum, it| {
        *sum += u64::from(it);
        Some(*sum)
    }));
    let longest = |length| {
        let windows = sums.iter().zip(&sums[length..]);
        windows.map(|(before, after)| after - before).max().unwrap_or(0)
    };
    (0..sums.len()).map(longest).collect()
}

/// Accesses come in bursts.
fn wishes() -> impl Strategy<Value = Vec<Tick>> {
    let burst = (any::<bool>(), any::<bool>(), 1usize..25);
    prop::collection::vec(burst, 1..12).prop_map(|bursts| {
        let burst = |(access, other, length)| std::iter::repeat_n((access, other), length);
        bursts.into_iter().flat_map(burst).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_window_has_more_than_its_curve(
        wishes in wishes(), budget in 0u64..6, period in 1usize..13, n in 1u32..5, phase in 0u32..5,
    ) {
        let made = regulate(&wishes, budget, period, n, phase);
        let bus = Bus::ideal(Duration(1));
        let reservation = Reservation::new(budget, Duration(period as u64)).unwrap();
        let waits = most(made.iter().map(|&(access, other)| access && other));
        let accesses = most(made.iter().map(|&(_, other)| other));
        let critical = compensation::with_compensation(&reservation, &bus, n);
        let others = compensation::for_others(&reservation, &bus, n);
        for (window, (waits, accesses)) in waits.into_iter().zip(accesses).enumerate().skip(1) {
            let time = Duration(window as u64);
            prop_assert!(waits <= critical.at(time).0, "critical, {} ticks", window);
            prop_assert!(accesses <= others.at(time).0, "others, {} ticks", window);
            // A window of that many ticks has them at instants that are a tick less apart.
            let ends = Duration(time.0 - 1);
            prop_assert!(accesses <= reservation.accesses_with_compensation_in(ends, &bus, n));
            if n == 1 {
                prop_assert!(accesses <= reservation.accesses_in(ends, &bus));
            }
        }
    }

    #[test]
    fn a_flush_is_as_good_as_a_start(
        wishes in wishes(), budget in 0u64..6, period in 1usize..13, n in 1u32..5,
        skip in 0usize..12,
    ) {
        // From somewhere in a period that began with the plain budget.
        let made = regulate(&wishes, budget, period, n, 0);
        let skip = skip % period;
        let reservation = Reservation::new(budget, Duration(period as u64)).unwrap();
        let curve = compensation::from_flush(&reservation, &Bus::ideal(Duration(1)));
        let (mut waits, mut time) = (0, Duration(0));
        for &(access, other) in made.iter().skip(skip) {
            waits += u64::from(access && other);
            time.0 += 1;
            prop_assert!(waits <= curve.at(time).0, "{} ticks", time.0);
        }
    }
}

fn plain(reservation: &Reservation) -> Curve {
    Curve::new(reservation, &Bus::ideal(Duration(1)))
}

#[test]
fn fig_3_5_two_periods_have_two_budgets_if_they_are_aligned() {
    let (budget, period, n) = (10, 100, 2);
    // The critical side is silent in the first period and makes accesses all the time in the
    // second one: 20 of them wait, as without compensation; the other side has 30.
    let mut wishes = vec![(false, true); 100];
    wishes.extend([(true, true); 100]);
    let made = regulate(&wishes, budget, period, n, 0);
    assert_eq!(made.iter().filter(|it| it.0 && it.1).count(), 20);
    assert_eq!(made.iter().filter(|it| it.1).count(), 30);
}

#[test]
fn a_task_that_is_released_late_in_a_reset_window_waits_for_more() {
    // Silent for a period, then busy: the 20 accesses of the second period come at its end, and
    // the 10 of the third one at its start.
    let (budget, period, n) = (10, 100, 2);
    let mut wishes = vec![(false, false); 180];
    wishes.extend([(true, true); 120]);
    let made = regulate(&wishes, budget, period, n, 0);
    let waits = most(made.iter().map(|&(access, other)| access && other));
    let reservation = Reservation::new(budget, Duration(period as u64)).unwrap();
    // The curve of plain budgets, and so the thesis, has 20 in 30 ticks; there are 30.
    let window = Duration(30);
    assert_eq!(waits[30], 30);
    assert_eq!(plain(&reservation).at(window).0, 20);
    let curve = compensation::with_compensation(&reservation, &Bus::ideal(Duration(1)), n);
    assert_eq!(curve.at(window).0, 30);
    // And it is never more than one budget above the other.
    let ever: Vec<_> = (0..2_000).map(Duration).collect();
    assert!(ever.iter().all(|&t| curve.at(t).0 <= plain(&reservation).at(t).0 + budget));
}

#[test]
fn several_interfering_pcpus_have_to_be_credited_with_several_accesses() {
    // A VM with a budget of 10 for its two PCPUs. The critical side makes 5 accesses in the first
    // period, each of which waits for one of both PCPUs, and more in the second one.
    let (budget, n, pcpus, critical) = (10u64, 2, 2, [5, 100]);
    let waits = |credited: u64| {
        let first = budget.min(pcpus * critical[0]);
        let second = budget + budget.saturating_sub(credited * critical[0]);
        first + second.min(pcpus * critical[1])
    };
    // With Q - A for the next period a reset window has more than n Q; with Q - k A it has not.
    assert_eq!(waits(1), 25);
    assert_eq!(waits(pcpus), n * budget);
}

#[test]
fn without_periods_between_resets_there_is_no_compensation() {
    let reservation = Reservation::new(7, Duration(90)).unwrap();
    let bus = Bus { in_flight: 3, ..Bus::ideal(Duration(2)) };
    let curve = Curve::new(&reservation, &bus);
    assert_eq!(*curve.staircase(), Staircase::new(&reservation, Duration(2)));
    assert_eq!(compensation::with_compensation(&reservation, &bus, 1), curve);
    assert_eq!(compensation::for_others(&reservation, &bus, 1), curve);
}
