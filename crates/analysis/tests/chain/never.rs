//! No run of a random chain takes longer than the bounds.

use analysis::chain::Source;
use testing::{Random, cases};

use crate::draw_chain;
use crate::run::{Chooser, Tie, longest, run};

/// Random choices, often extreme ones.
pub struct RandomChoices {
    pub random: Random,
    /// One in so many choices is neither the least nor the largest value.
    pub middle: u64,
}

impl RandomChoices {
    fn choose(&mut self, least: u64, most: u64) -> u64 {
        match self.random.one_in(self.middle) {
            true => self.random.between(least, most),
            false => self.random.of(&[least, most]),
        }
    }
}

impl Chooser for RandomChoices {
    fn offset(&mut self, _: usize, period: u64) -> u64 {
        20 + self.random.below(2 * period)
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

#[test]
fn no_run_is_longer_than_the_bounds() {
    let mut random = Random::new(1);
    let mut counted = 0;
    for number in 0..u64::from(cases(4_000)) {
        let chain = draw_chain(&mut random);
        let mut choices = RandomChoices { random: Random::new(number), middle: 1 + number % 4 };
        for _ in 0..4 {
            let segments = run(&chain.source(), chain.steps(), 25, &mut choices);
            for tie in [Tie::Old, Tie::New] {
                let found = longest(&chain.source(), &segments, tie);
                counted += usize::from(found.age > 0 && found.reaction > 0);
                let bound = chain.reaction_time().unwrap();
                assert!(found.reaction <= bound.0, "{found:?} {chain:?}");
                let bound = chain.data_age().unwrap();
                assert!(found.age <= bound.0, "{found:?} {chain:?}");
                let bound = chain.reduced_data_age().unwrap();
                assert!(found.reduced <= bound.0, "{found:?} {chain:?}");
            }
            // The results keep to their stream.
            let outputs = chain.outputs();
            let writes: Vec<u64> = segments[segments.len() - 1].iter().map(|it| it.write).collect();
            for (index, first) in writes.iter().enumerate() {
                for (others, last) in writes[index..].iter().enumerate() {
                    let least = outputs.shortest(others as u64 + 1);
                    assert!(last - first >= least.0, "{least} {chain:?}");
                }
            }
            if let (Source::Events(_), Ok((best, worst))) = (chain.source(), chain.latency()) {
                for job in &segments[0] {
                    let latency = job.write - job.nominal;
                    assert!((best.0..=worst.0).contains(&latency), "{latency} {chain:?}");
                    if let Ok((best, worst)) = chain.latency_from_event() {
                        let latency = job.write - job.read;
                        assert!((best.0..=worst.0).contains(&latency), "{latency} {chain:?}");
                    }
                }
            }
        }
    }
    assert!(counted > cases(4_000) as usize * 6, "only {counted} runs had complete chains");
}
