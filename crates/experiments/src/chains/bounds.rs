//! Bounds of chains of tasks with fixed priorities on one PCPU.

use analysis::chain::{Chain, ChainError, Delay, EventStream, Sampling, Source, Step};
use analysis::response::Response;
use analysis::{Duration, Task};
use sweep::Error;

use super::drawn::TaskSet;
use crate::experiment::Bound;

impl Bound {
    /// All bounds.
    pub const ALL: [Self; 3] = [Self::ReactionTime, Self::DataAge, Self::ReducedDataAge];

    /// The bound of a chain.
    pub fn read(self, chain: &Chain) -> Result<Duration, ChainError> {
        match self {
            Self::ReactionTime => chain.reaction_time(),
            Self::DataAge => chain.data_age(),
            Self::ReducedDataAge => chain.reduced_data_age(),
        }
    }
}

/// The bound of a chain, given as indices of tasks. `priorities`: whether a task that is below the
/// one before it in the chain counts as one that starts after that.
pub fn of(
    set: &TaskSet,
    responses: &[Response],
    chain: &[usize],
    priorities: bool,
    bound: Bound,
) -> Result<Duration, Error> {
    let mut before = None;
    let mut steps = Vec::new();
    for index in chain {
        let (Some(task), Some(response)) = (set.tasks.get(*index), responses.get(*index)) else {
            return Err(Error::Parameters(format!("the chain has no task {index}")));
        };
        let below = before.is_some_and(|before| before < index);
        steps.push(sampling(task, response, priorities && below)?);
        before = Some(index);
    }
    let found = Chain::new(Source::State, steps).and_then(|chain| bound.read(&chain));
    found.map_err(|error| Error::Parameters(error.to_string()))
}

/// The bound of Davare et al. for the reaction time: the sum of all periods and response times.
pub fn davare(set: &TaskSet, responses: &[Response], chain: &[usize]) -> Result<Duration, Error> {
    of(set, responses, chain, false, Bound::ReactionTime)
}

/// A task that may read at any time, and from execution times of 0 on.
fn sampling(task: &Task, response: &Response, starts_after_writer: bool) -> Result<Step, Error> {
    let releases = EventStream::periodic(task.period());
    let releases = releases.map_err(|error| Error::Parameters(error.to_string()))?;
    let delay = Delay::of_task(task, Duration(0), response);
    let delay = delay.ok_or_else(|| Error::Parameters("a response time is too long".into()))?;
    Ok(Step::Sampling(Sampling { releases, delay, starts_after_writer }))
}

#[cfg(test)]
mod tests {
    use taskgen::automotive::Automotive;

    use super::*;
    use crate::experiment::{Chains, Tasks};

    /// The published formulas, with response times `R` and periods `T`: the reaction time is the
    /// first `T`, the last `R`, and for each pair `max(R, T' + R [P])`; the reduced data age is the
    /// last `R`, and for each pair `T + R [P]`; `[P]` is 1 if the second task has the higher
    /// priority (Dürr et al., Theorems 5.4 and 5.10).
    fn published(set: &TaskSet, responses: &[Response], chain: &[usize]) -> [u64; 2] {
        let period = |index: usize| set.tasks[index].period().0;
        let response = |index: usize| responses[index].time.0;
        let (first, last) = (chain[0], chain[chain.len() - 1]);
        let mut times = [period(first) + response(last), response(last)];
        for pair in chain.windows(2) {
            let (writer, reader) = (pair[0], pair[1]);
            let above = if reader < writer { response(writer) } else { 0 };
            times[0] += response(writer).max(period(reader) + above);
            times[1] += period(writer) + above;
        }
        times
    }

    #[test]
    fn bounds_are_those_of_the_published_formulas() {
        let automotive = Automotive::default();
        for tasks in [Tasks::Automotive, Tasks::Uniform([40, 60])] {
            let settings = Chains { sets: 5, quick_sets: 5, seed: 7, tasks, chains: [30, 59] };
            for set in 0..settings.sets {
                let drawn = TaskSet::new(&automotive, &settings, 80, set).expect("a set");
                let responses = drawn.responses().expect("80 % by rate-monotonic priorities");
                assert!((30..60).contains(&drawn.chains.len()), "{}", drawn.chains.len());
                for chain in &drawn.chains {
                    let bound = |priorities, bound| {
                        of(&drawn, &responses, chain, priorities, bound).expect("a bound").0
                    };
                    let ours =
                        [Bound::ReactionTime, Bound::ReducedDataAge].map(|it| bound(true, it));
                    assert_eq!(ours, published(&drawn, &responses, chain), "{chain:?}");
                    let sum =
                        |index: &usize| drawn.tasks[*index].period().0 + responses[*index].time.0;
                    let davare = davare(&drawn, &responses, chain).expect("a bound").0;
                    assert_eq!(davare, chain.iter().map(sum).sum::<u64>(), "{chain:?}");
                    assert_eq!(davare, bound(false, Bound::DataAge), "{chain:?}");
                }
            }
        }
    }
}
