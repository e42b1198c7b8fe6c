//! Event streams against all their windows.

use analysis::chain::{Delay, EventStream, StreamError};
use analysis::{Duration, LONGEST};
use testing::{Random, cases};

use crate::never::RandomChoices;
use crate::run::{Chooser, events};
use crate::{delay, draw_stream, ns, stream};

/// The first event comes as late as possible and all others as early as possible, or the other way
/// round.
struct Extreme {
    dense: bool,
}

impl Chooser for Extreme {
    fn offset(&mut self, _: usize, _: u64) -> u64 {
        100
    }

    fn gap(&mut self, _: usize, least: u64, most: u64) -> u64 {
        if self.dense { least } else { most }
    }

    fn arrival(&mut self, job: usize, least: u64, most: u64) -> u64 {
        if self.dense == (job == 0) { most } else { least }
    }

    fn read(&mut self, _: usize, least: u64, _: u64) -> u64 {
        least
    }

    fn write(&mut self, _: usize, least: u64, _: u64) -> u64 {
        least
    }
}

fn times(stream: &EventStream, number: usize, chooser: &mut impl Chooser) -> Vec<u64> {
    events(stream, 0, number, chooser).iter().map(|event| event.activation).collect()
}

/// Returns the times of events that come as soon after the first one as they can.
pub fn densest(stream: &EventStream, number: usize) -> Vec<u64> {
    times(stream, number, &mut Extreme { dense: true })
}

#[test]
fn no_window_has_more_or_fewer_events() {
    let mut random = Random::new(3);
    for number in 0..u64::from(cases(500)) {
        let stream = draw_stream(&mut random);
        let mut choices = RandomChoices { random: Random::new(number), middle: 2 };
        let times = times(&stream, 30, &mut choices);
        // Windows within which all events are known.
        let (first, last) = (times[0], times[29]);
        for from in (first..last).step_by(3) {
            for to in from..last {
                let window = ns(to - from);
                let open = times.iter().filter(|it| (from..to).contains(it)).count() as u64;
                let closed = times.iter().filter(|it| (from..=to).contains(it)).count() as u64;
                assert!(open <= stream.events_in(window), "{window} {stream:?}");
                assert!(closed <= stream.events_in_closed(window), "{window} {stream:?}");
                assert!(open >= stream.least_events_in(window), "{window} {stream:?}");
            }
        }
    }
}

#[test]
fn some_window_has_as_many() {
    let mut random = Random::new(4);
    for _ in 0..cases(500) {
        let stream = draw_stream(&mut random);
        let dense = densest(&stream, 40);
        for (others, last) in dense.iter().enumerate() {
            assert_eq!(stream.shortest(others as u64 + 1).0, last - dense[0], "{stream:?}");
        }
        for window in 0..dense[39] - dense[0] {
            let closed = dense.iter().filter(|it| **it <= dense[0] + window).count() as u64;
            assert_eq!(stream.events_in_closed(ns(window)), closed, "{window} {stream:?}");
            let open = dense.iter().filter(|it| **it < dense[0] + window).count() as u64;
            assert_eq!(stream.events_in(ns(window)), open, "{window} {stream:?}");
        }
        // After the first event, which is early, all others are late.
        let sparse = times(&stream, 40, &mut Extreme { dense: false });
        let from = sparse[0] + 1;
        for window in 0..sparse[39] - from {
            let open = sparse.iter().filter(|it| (from..from + window).contains(it)).count();
            let least = stream.least_events_in(ns(window));
            assert!((least..=least + 1).contains(&(open as u64)), "{window} {open} {stream:?}");
        }
    }
}

/// The sequence that pyCPA's own test of its model expects for `P = 10`, `J = 99`.
#[test]
fn distances_are_those_of_the_peer() {
    let stream = stream(10, 99, 0, 10);
    let distances: Vec<u64> = (0..100).map(|events| stream.shortest(events).0).collect();
    let expected = |events: u64| if events < 11 { 0 } else { (events - 11) * 10 + 1 };
    assert_eq!(distances, (0..100).map(expected).collect::<Vec<_>>());
}

#[test]
fn outputs_have_the_jitter_of_inputs_and_delays() {
    let input = stream(20, 5, 4, 20);
    let output = input.after(&delay(3, 5)).unwrap();
    assert_eq!((output.period(), output.longest()), (ns(20), Some(ns(20))));
    assert_eq!((output.jitter(), output.distance()), (ns(7), ns(2)));
    let delay = Delay::from_nominal(ns(3), ns(5)).unwrap();
    assert_eq!(input.after(&delay).unwrap().distance(), ns(0));
    assert_eq!(input.after(&delay.with_apart(ns(3))).unwrap().distance(), ns(3));
    assert_eq!(input.after(&delay.with_apart(ns(30))).unwrap().distance(), ns(20));
}

#[test]
fn impossible_streams_are_refused() {
    let [zero, long] = [ns(0), Duration(LONGEST.0 + 1)];
    assert_eq!(EventStream::periodic(zero), Err(StreamError::NoPeriod));
    assert_eq!(EventStream::sporadic(long), Err(StreamError::TooLong(long)));
    let good = stream(10, 0, 0, 10);
    assert_eq!(good.with_jitter(long), Err(StreamError::TooLong(long)));
    assert!(matches!(good.with_distance(ns(11)), Err(StreamError::TooFarApart { .. })));
    assert!(matches!(good.with_longest(ns(9)), Err(StreamError::TooClose { .. })));
    let jittery = good.with_jitter(LONGEST).unwrap();
    let too_long = jittery.after(&delay(0, 1));
    assert_eq!(too_long, Err(StreamError::TooLong(long)));
    assert_eq!(Delay::new(ns(2), ns(1)), None);
    assert_eq!(Delay::new(ns(2), long), None);
}

#[test]
fn extremes_saturate() {
    let dense = stream(1, LONGEST.0, 0, 1);
    assert_eq!(dense.events_in(Duration(u64::MAX)), u64::MAX);
    assert_eq!(dense.shortest(u64::MAX), Duration(u64::MAX - 1 - LONGEST.0));
    let rare = EventStream::sporadic(LONGEST).unwrap();
    assert_eq!(rare.shortest(u64::MAX), Duration(u64::MAX));
    assert_eq!(rare.events_in(LONGEST), 1);
    assert_eq!(rare.least_events_in(Duration(u64::MAX)), 0);
}
