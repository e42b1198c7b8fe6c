//! All runs of small chains.

use analysis::chain::{Chain, Let, Source, Step};

use crate::run::{Chooser, Longest, Tie, longest, run};
use crate::{delay, ns, sampling, stream};

/// Enumerates all choices: each run repeats those of the run before, but for the last one that can
/// be increased.
#[derive(Default)]
struct All {
    choices: Vec<(u64, u64)>,
    next: usize,
}

impl All {
    fn choose(&mut self, least: u64, most: u64) -> u64 {
        if self.next == self.choices.len() {
            self.choices.push((0, most - least));
        }
        self.next += 1;
        least + self.choices[self.next - 1].0
    }

    /// Goes to the next run; returns false after the last one.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((choice, most)) = self.choices.pop() {
            if choice < most {
                self.choices.push((choice + 1, most));
                return true;
            }
        }
        false
    }
}

impl Chooser for All {
    fn offset(&mut self, segment: usize, _: u64) -> u64 {
        // The others move around the first one.
        if segment == 0 { 10 } else { self.choose(4, 20) }
    }

    fn gap(&mut self, _: usize, least: u64, most: u64) -> u64 {
        self.choose(least, most)
    }

    fn arrival(&mut self, _: usize, least: u64, most: u64) -> u64 {
        self.choose(least, most)
    }

    fn read(&mut self, _: usize, least: u64, most: u64) -> u64 {
        self.choose(least, most)
    }

    fn write(&mut self, _: usize, least: u64, most: u64) -> u64 {
        self.choose(least, most)
    }
}

/// The longest times of all runs with this number of jobs in each segment.
fn all(source: Source, steps: &[Step], jobs: usize, tie: Tie) -> Longest {
    let mut choices = All::default();
    let mut found = Longest::default();
    loop {
        let segments = run(&source, steps, jobs, &mut choices);
        found = found.max(longest(&source, &segments, tie));
        if !choices.advance() {
            return found;
        }
    }
}

#[test]
fn the_longest_of_all_runs_is_the_bound() {
    let fast = || sampling(stream(2, 1, 0, 2), delay(0, 1));
    let slow = || sampling(stream(3, 0, 0, 4), delay(1, 2));
    let logical = Step::Let(Let { period: ns(3), interval: ns(2), completion: ns(2) });
    let bursts = Source::Events(stream(2, 3, 1, 2));
    let chains = [
        (Source::State, vec![fast()]),
        (Source::State, vec![fast(), slow()]),
        (Source::State, vec![slow(), fast()]),
        (Source::State, vec![slow(), Step::Channel(delay(0, 1)), fast()]),
        (Source::State, vec![logical, slow()]),
        (Source::State, vec![fast(), logical]),
        (bursts, vec![fast()]),
        (bursts, vec![Step::Triggered(delay(1, 2)), slow()]),
    ];
    for (number, (source, steps)) in chains.into_iter().enumerate() {
        // Two jobs suffice; the first chains show that a third one changes nothing.
        let jobs = if number < 3 { 3 } else { 2 };
        let chain = Chain::new(source, steps.clone()).unwrap();
        let bound = Longest {
            reaction: chain.reaction_time().unwrap().0,
            age: chain.data_age().unwrap().0,
            reduced: chain.reduced_data_age().unwrap().0,
        };
        assert_eq!(all(source, &steps, jobs, Tie::Old), bound, "{steps:?}");
        // If a read at the instant of a write sees it, one tick less for each segment that reads.
        let reads = steps.iter().filter(|it| !matches!(it, Step::Channel(_) | Step::Triggered(_)));
        let reads = reads.count() as u64;
        let found = all(source, &steps, jobs, Tie::New);
        assert_eq!(found.reaction, bound.reaction - reads, "{steps:?}");
        let linked = reads - u64::from(source == Source::State);
        assert_eq!(found.age, bound.age - linked, "{steps:?}");
        assert_eq!(found.reduced, bound.reduced - linked, "{steps:?}");
    }
}
