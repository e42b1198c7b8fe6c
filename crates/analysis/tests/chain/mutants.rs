//! Random runs refute bounds that are a little smaller.

use analysis::chain::{Chain, Source, Step};
use testing::Random;

use crate::draw_chain;
use crate::never::RandomChoices;
use crate::run::{Longest, Tie, longest, run};

/// The times of a segment.
#[derive(Clone, Copy)]
struct Times {
    longest: u64,
    jitter: u64,
    /// The sum of the longest delays, and the last one.
    worst: u64,
    last: u64,
    /// The sum of the shortest delays.
    best: u64,
}

fn times(chain: &Chain) -> Vec<Times> {
    let mut all: Vec<Times> = Vec::new();
    let begin = |longest, jitter| Times { longest, jitter, worst: 0, last: 0, best: 0 };
    if let Source::Events(stream) = chain.source() {
        all.push(begin(stream.longest().unwrap().0, stream.jitter().0));
    }
    for step in chain.steps() {
        let (best, worst) = match step {
            Step::Triggered(delay) | Step::Channel(delay) => (delay.best().0, delay.worst().0),
            Step::Sampling(it) => {
                all.push(begin(it.releases.longest().unwrap().0, it.releases.jitter().0));
                (it.delay.best().0, it.delay.worst().0)
            }
            Step::Let(it) => {
                all.push(begin(it.period.0, 0));
                (it.interval.0, it.interval.0)
            }
        };
        let segment = all.last_mut().unwrap();
        segment.worst += worst;
        segment.best += best;
        segment.last = worst;
    }
    all
}

fn sum(times: &[Times], of: impl Fn(&Times) -> u64) -> u64 {
    times.iter().map(of).sum()
}

/// Bounds of the data age, or of the reaction time, that someone could believe in.
type Mutant = (&'static str, fn(&[Times]) -> u64);

const MUTANTS: [Mutant; 7] = [
    ("without one period", |all| {
        let least = all.iter().map(|it| it.longest).min().unwrap_or(0);
        sum(all, |it| it.longest + it.jitter + it.worst) - least
    }),
    ("without jitter", |all| sum(all, |it| it.longest + it.worst)),
    ("a job waits or executes", |all| sum(all, |it| it.longest.max(it.jitter + it.worst))),
    ("delays without the best case", |all| {
        sum(all, |it| it.longest + it.jitter + it.worst - it.best)
    }),
    ("half of the periods", |all| sum(all, |it| it.longest / 2 + it.jitter + it.worst)),
    ("each reader starts after its writer", |all| {
        let last = all.len() - 1;
        sum(all, |it| it.longest + it.jitter + it.worst) - sum(&all[..last], |it| it.last)
    }),
    ("each delay once, in the longest segment", |all| {
        let longest = all.iter().map(|it| it.worst).max().unwrap_or(0);
        sum(all, |it| it.longest + it.jitter) + longest
    }),
];

#[test]
fn smaller_bounds_are_refuted() {
    let mut random = Random::new(5);
    let mut refuted = [[0; 2]; MUTANTS.len()];
    let mut reduced = 0;
    // As many in each run, since a mutant that is never found has to be found in the same number.
    for number in 0..1_500 {
        let chain = draw_chain(&mut random);
        let all = times(&chain);
        let mut choices = RandomChoices { random: Random::new(number), middle: 8 };
        let mut found = Longest::default();
        for _ in 0..6 {
            let segments = run(&chain.source(), chain.steps(), 25, &mut choices);
            found = found.max(longest(&chain.source(), &segments, Tie::Old));
        }
        for ((_, mutant), refuted) in MUTANTS.iter().zip(&mut refuted) {
            refuted[0] += u32::from(found.age > mutant(&all));
            if chain.source() == Source::State {
                refuted[1] += u32::from(found.reaction > mutant(&all));
            }
        }
        reduced += u32::from(found.age > chain.reduced_data_age().unwrap().0);
    }
    for ((name, _), refuted) in MUTANTS.iter().zip(refuted) {
        println!("{name}: refuted by {} ages and {} reaction times", refuted[0], refuted[1]);
        assert!(refuted.iter().all(|it| *it >= 10), "{name}: {refuted:?}");
    }
    assert!(reduced >= 10, "the reduced data age is none: {reduced}");
}
