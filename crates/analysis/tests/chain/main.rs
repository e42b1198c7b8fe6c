//! Bounds of chains against runs that follow each piece of data, job by job.

mod bucket;
mod exhaustive;
mod mutants;
mod never;
mod peer;
mod queue;
mod reached;
mod run;
mod scheduled;
mod streams;
mod unbounded;

use analysis::Duration;
use analysis::chain::{Chain, Delay, EventStream, Sampling, Source, Step};
use testing::Random;

fn ns(time: u64) -> Duration {
    Duration(time)
}

/// A stream `(P, J, d, L)`; `L = 0`: no longest distance.
fn stream(period: u64, jitter: u64, distance: u64, longest: u64) -> EventStream {
    let stream = EventStream::sporadic(ns(period)).unwrap().with_jitter(ns(jitter)).unwrap();
    let stream = stream.with_distance(ns(distance)).unwrap();
    if longest == 0 { stream } else { stream.with_longest(ns(longest)).unwrap() }
}

fn delay(best: u64, worst: u64) -> Delay {
    Delay::new(ns(best), ns(worst)).unwrap()
}

fn sampling(releases: EventStream, delay: Delay) -> Step {
    Step::Sampling(Sampling { releases, delay, starts_after_writer: false })
}

/// Draws a delay whose best case is at most `best_max`, which counts from events or from nominal
/// times.
fn draw_delay(random: &mut Random, best_max: u64, worst_max: u64) -> Delay {
    let best = random.below(best_max.min(worst_max) + 1);
    let worst = random.between(best, worst_max);
    match random.one_in(2) {
        true => delay(best, worst),
        false => Delay::from_nominal(ns(best), ns(worst)).unwrap(),
    }
}

/// Draws a stream with a longest distance and short times, so that events of steps meet often.
fn draw_stream(random: &mut Random) -> EventStream {
    let period = random.between(2, 12);
    let longest = period + if random.one_in(2) { 0 } else { random.below(6) };
    let jitter = match random.below(3) {
        0 => 0,
        1 => random.below(period),
        _ => random.below(3 * period),
    };
    let distance = if random.one_in(2) { 0 } else { random.between(0, period) };
    stream(period, jitter, distance, longest)
}

/// Draws a chain of up to five steps of all kinds.
fn draw_chain(random: &mut Random) -> Chain {
    let source = match random.one_in(3) {
        true => Source::Events(draw_stream(random)),
        false => Source::State,
    };
    let steps = random.between(1, 5);
    let step = |number| {
        let samples = number == 0 && source == Source::State;
        match random.below(5) {
            0 if !samples => Step::Channel(draw_delay(random, 6, 10)),
            1 if !samples => Step::Triggered(draw_delay(random, 2, 10)),
            2 => {
                let (period, interval) = (random.between(2, 12), random.between(1, 12));
                let (period, interval) = (ns(period), ns(interval.min(period)));
                Step::Let(analysis::chain::Let { period, interval, completion: interval })
            }
            _ => {
                let releases = draw_stream(random);
                // Jobs execute one after the other also if all of them are early.
                let delay = draw_delay(random, releases.distance().0.min(2), 14);
                sampling(releases, delay)
            }
        }
    };
    let steps: Vec<_> = (0..steps).map(step).collect();
    Chain::new(source, steps).unwrap()
}
