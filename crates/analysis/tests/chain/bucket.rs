//! What a bucket lets pass, against the bucket of the hypervisor.

use analysis::chain::bucket::{Bucket, NoStream};
use analysis::chain::channel::Passage;
use policy::channel::{self, Moderation, Parameters, Signal};
use policy::time::Instant;
use testing::{Random, cases};

use crate::ns;

fn parameters(tokens: u64, period: u64, burst: u64) -> Parameters {
    Parameters { tokens, period: policy::time::Duration(period), burst }
}

/// Draws a bucket in both crates.
fn draw(random: &mut Random) -> (Bucket, Parameters) {
    let (tokens, period, burst) =
        (random.between(1, 20), random.between(1, 60), random.between(1, 12));
    let bound = Bucket::new(tokens, ns(period), burst).unwrap();
    (bound, parameters(tokens, period, burst))
}

/// Sends messages at these instants, of this cost or a higher one, and returns when they passed.
fn passed(parameters: Parameters, sends: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut bucket = channel::Bucket::new(parameters).unwrap();
    sends.into_iter().filter(|(at, cost)| bucket.take(*cost, Instant(*at))).collect()
}

#[test]
fn no_sender_sends_more_than_the_bound() {
    let mut random = Random::new(9);
    for _ in 0..cases(2_000) {
        let (bound, parameters) = draw(&mut random);
        let cost = random.between(1, parameters.burst);
        let mut now = 0;
        let sends = (0..150).map(|_| {
            now += match random.below(3) {
                0 => 0,
                1 => random.below(3),
                _ => random.below(60),
            };
            (now, cost + random.below(2))
        });
        let passed = passed(parameters, sends.collect::<Vec<_>>());
        let stream = bound.stream(cost);
        for (index, (first, _)) in passed.iter().enumerate() {
            let mut tokens = 0;
            for (others, (last, cost_here)) in passed[index..].iter().enumerate() {
                let window = ns(last - first);
                tokens += cost_here;
                let messages = others as u64 + 1;
                assert!(tokens <= bound.tokens_in(window));
                assert!(messages <= bound.messages_in(window, cost).unwrap());
                match &stream {
                    Ok(stream) => assert!(messages <= stream.events_in_closed(window)),
                    Err(error) => assert_eq!(*error, NoStream::TooMany),
                }
            }
        }
    }
}

/// A sender that sends whenever it can sends as much as the bound in each window from the first
/// message on. The stream is the same bound if its times are whole numbers.
#[test]
fn a_greedy_sender_sends_as_much_as_the_bound() {
    let mut random = Random::new(10);
    let mut exact = 0;
    for _ in 0..cases(1_000) {
        let (bound, parameters) = draw(&mut random);
        let sends = (500..700).flat_map(|at| (0..50).map(move |_| (at, 1)));
        let passed = passed(parameters, sends);
        let stream = bound.stream(1);
        let whole = parameters.period.0.is_multiple_of(parameters.tokens);
        for window in 0..200 {
            let sent = passed.iter().filter(|(at, _)| *at <= 500 + window).count() as u64;
            // A bucket that is full loses what comes: the sender keeps it from being full.
            if parameters.burst > parameters.tokens.div_ceil(parameters.period.0) {
                assert_eq!(sent, bound.tokens_in(ns(window)), "{window} {parameters:?}");
            }
            if let (true, Ok(stream)) = (whole, &stream) {
                assert_eq!(stream.events_in_closed(ns(window)), sent);
                exact += 1;
            }
        }
    }
    assert!(exact > 0);
}

/// All of the sender's messages are for one receiver, which is interrupted as the bucket says.
#[test]
fn interrupts_keep_to_the_bound() {
    let mut random = Random::new(11);
    for _ in 0..cases(1_000) {
        let (bound, parameters) = draw(&mut random);
        let mut moderation = Moderation::new(parameters).unwrap();
        let mut interrupts = Vec::new();
        // A message in each tick, as often as a hostile sender can, or now and then.
        let seldom = random.between(1, 30);
        let mut open = None;
        for now in 0..400 {
            let mut interrupt = moderation.due(Instant(now));
            if random.one_in(seldom) {
                open = open.or(Some(now));
                interrupt |= moderation.message(Instant(now)) == Signal::Now;
            }
            if interrupt {
                interrupts.push(now);
                open = None;
            }
            if let Some(open) = open {
                assert!(now - open < bound.moderates_for().0);
            }
        }
        for (index, first) in interrupts.iter().enumerate() {
            for (others, last) in interrupts[index..].iter().enumerate() {
                let interrupts = others as u64 + 1;
                assert!(interrupts <= bound.tokens_in(ns(last - first)));
            }
        }
    }
}

/// The densest sequence of a stream is dropped if and only if the bucket does not admit the stream.
#[test]
fn streams_are_admitted_whose_messages_all_pass() {
    let mut random = Random::new(14);
    let [mut admitted, mut dropped] = [0; 2];
    for _ in 0..cases(4_000) {
        let (bound, parameters) = draw(&mut random);
        let stream = crate::draw_stream(&mut random);
        let cost = random.between(1, 4);
        let dense = crate::streams::densest(&stream, 300);
        let all = passed(parameters, dense.iter().map(|at| (*at, cost))).len() == dense.len();
        assert_eq!(bound.admits(&stream, cost), all, "{bound:?} {stream:?} {cost}");
        admitted += u32::from(all);
        dropped += u32::from(!all);
    }
    // The largest numbers do not overflow.
    let (most, long) = (u64::MAX, analysis::LONGEST.0);
    let all = Bucket::new(most, ns(long), most).unwrap();
    assert!(all.admits(&crate::stream(long, long, 0, long), 1));
    assert!(!all.admits(&crate::stream(1, long, 0, 1), most));
    assert!(!Bucket::new(1, ns(long), 1).unwrap().admits(&crate::stream(long, long, 0, long), 1));
    assert!(admitted > cases(4_000) / 10 && dropped > cases(4_000) / 10, "{admitted} {dropped}");
}

#[test]
fn a_message_takes_the_sum_of_the_parts_of_its_way() {
    let moderation = Bucket::new(3, ns(100), 2);
    let passage = Passage { copy: (ns(5), ns(20)), moderation, signal: (ns(1), ns(7)) };
    let delay = passage.delay().unwrap();
    assert_eq!((delay.best(), delay.worst()), (ns(6), ns(20 + 34 + 7)));
    assert!(delay.is_from_event());
    let at_once = Passage { moderation: None, ..passage }.delay().unwrap();
    assert_eq!(at_once.worst(), ns(27));
    assert_eq!(Passage { copy: (ns(2), ns(1)), ..passage }.delay(), None);
    assert_eq!(Passage { signal: (ns(2), ns(1)), ..passage }.delay(), None);
    assert_eq!(Passage { copy: (ns(0), analysis::LONGEST), ..passage }.delay(), None);
}

#[test]
fn what_is_no_stream_says_why() {
    let bucket = |tokens, period, burst| Bucket::new(tokens, ns(period), burst).unwrap();
    assert_eq!(bucket(1, 10, 4).stream(5), Err(NoStream::NonePasses));
    assert_eq!(bucket(1, 10, 4).stream(0), Err(NoStream::TooMany));
    assert_eq!(bucket(20, 10, 4).stream(1), Err(NoStream::TooMany));
    let long = analysis::LONGEST.0;
    assert!(matches!(bucket(1, long, 4).stream(2), Err(NoStream::Stream(_))));
    let stream = bucket(3, 10, 8).stream(4).unwrap();
    assert_eq!((stream.period(), stream.jitter()), (ns(13), ns(14)), "13 1/3 and 13 1/3");
    assert_eq!(Bucket::new(0, ns(1), 1), None);
    assert_eq!(Bucket::new(1, ns(0), 1), None);
    assert_eq!(Bucket::new(1, ns(1), 0), None);
    assert_eq!(Bucket::new(1, ns(long + 1), 1), None);
    assert_eq!(bucket(1, 10, 4).messages_in(ns(5), 0), None);
}
