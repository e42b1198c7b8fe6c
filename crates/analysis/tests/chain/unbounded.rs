//! Chains that have no bound, and chains that are none.

use analysis::chain::{
    Activation, Chain, ChainError, Delay, Let, PropagationError, Sampling, Source, Step, propagate,
};
use analysis::response::{Workload, response_times};
use analysis::{Failure, LONGEST, Task};

use crate::{delay, ns, sampling, stream};

#[test]
fn a_chain_needs_something_that_activates_it() {
    assert_eq!(Chain::new(Source::State, vec![]), Err(ChainError::Empty));
    let triggered = vec![Step::Triggered(delay(1, 2))];
    assert_eq!(Chain::new(Source::State, triggered), Err(ChainError::NothingActivates));
}

#[test]
fn what_comes_too_seldom_has_no_bound() {
    let sporadic = stream(10, 0, 0, 0);
    let steps = vec![Step::Triggered(delay(1, 2)), sampling(stream(10, 3, 0, 10), delay(1, 4))];
    let chain = Chain::new(Source::Events(sporadic), steps.clone()).unwrap();
    // Each event has its effect in time, but nothing replaces it.
    assert_eq!(chain.reaction_time(), Ok(ns(2 + 10 + 3 + 4)));
    assert_eq!(chain.data_age(), Err(ChainError::Seldom { step: 0 }));
    assert_eq!(chain.reduced_data_age(), Err(ChainError::Seldom { step: 0 }));
    assert_eq!(chain.latency(), Err(ChainError::Samples { step: 1 }));
    let steps = [steps, vec![sampling(sporadic, delay(1, 2))]].concat();
    let chain = Chain::new(Source::Events(stream(10, 0, 0, 10)), steps).unwrap();
    assert_eq!(chain.reaction_time(), Err(ChainError::Seldom { step: 2 }));
    assert_eq!(chain.data_age(), Err(ChainError::Seldom { step: 2 }));
    assert_eq!(chain.reduced_data_age(), Ok(ns(10 + 2 + 10 + 3 + 4 + 2)));
}

#[test]
fn latencies_count_as_their_delays_do() {
    let steps = vec![Step::Triggered(delay(1, 2)), Step::Channel(delay(0, 3))];
    let chain = Chain::new(Source::Events(stream(10, 5, 0, 0)), steps.clone()).unwrap();
    assert_eq!(chain.latency(), Ok((ns(1), ns(10))));
    assert_eq!(chain.latency_from_event(), Ok((ns(1), ns(5))));
    let nominal = Step::Triggered(Delay::from_nominal(ns(1), ns(2)).unwrap());
    let steps = [steps, vec![nominal]].concat();
    let chain = Chain::new(Source::Events(stream(10, 5, 0, 0)), steps).unwrap();
    assert_eq!(chain.latency(), Ok((ns(2), ns(12))));
    assert_eq!(chain.latency_from_event(), Err(ChainError::FromNominal { step: 2 }));
}

#[test]
fn a_logical_execution_time_must_suffice() {
    let step =
        |completion| Step::Let(Let { period: ns(10), interval: ns(8), completion: ns(completion) });
    let late = Chain::new(Source::State, vec![step(9)]);
    assert!(matches!(late, Err(ChainError::Late { step: 0, .. })));
    let chain = Chain::new(Source::State, vec![step(8), step(3)]).unwrap();
    assert_eq!(chain.reaction_time(), Ok(ns(2 * (10 + 8))));
    assert_eq!(chain.outputs().jitter(), ns(0));
}

#[test]
fn sums_that_are_too_long_are_no_bounds() {
    let half = LONGEST.0 / 2 + 1;
    let step = sampling(stream(half, 0, 0, half), delay(0, 1));
    let chain = Chain::new(Source::State, vec![step, step]).unwrap();
    assert_eq!(chain.reaction_time(), Err(ChainError::TooLong));
    assert!(chain.reduced_data_age().is_ok());
    let long = Step::Channel(delay(0, LONGEST.0));
    let chain = Chain::new(Source::State, vec![step, long, long]);
    assert!(matches!(chain, Err(ChainError::Stream { step: 1, .. })));
}

/// A step that starts after its writer saves the delay of a task, not that of a channel.
#[test]
fn only_a_task_is_waited_for() {
    let reader = |starts_after_writer| {
        let (releases, delay) = (stream(10, 2, 0, 10), delay(1, 3));
        Step::Sampling(Sampling { releases, delay, starts_after_writer })
    };
    let reaction = |steps| Chain::new(Source::State, steps).unwrap().reaction_time().unwrap();
    let saved = |between: Vec<Step>| {
        let chain = |last| [vec![reader(false)], between.clone(), vec![reader(last)]].concat();
        reaction(chain(false)).0 - reaction(chain(true)).0
    };
    assert_eq!(saved(vec![]), 3);
    assert_eq!(saved(vec![Step::Triggered(delay(0, 5))]), 5);
    assert_eq!(saved(vec![Step::Channel(delay(0, 5))]), 0);
    // The first step reads the state.
    assert_eq!(reaction(vec![reader(true)]), reaction(vec![reader(false)]));
}

#[test]
fn steps_must_be_activated_by_others() {
    let own = Activation::Own(stream(10, 0, 0, 10));
    let find = |activations: &[Activation]| {
        let delays = |streams: &[_]| Ok::<_, ()>(vec![delay(0, 1); streams.len()]);
        propagate(activations, LONGEST, 100, delays)
    };
    let cycle = [own, Activation::Output(2), Activation::Output(1)];
    assert_eq!(find(&cycle), Err(PropagationError::Cycle(1)));
    assert_eq!(find(&[Activation::Output(0)]), Err(PropagationError::Cycle(0)));
    assert_eq!(find(&[own, Activation::Output(7)]), Err(PropagationError::NoSuchStep(7)));
    let found = find(&[Activation::Output(1), Activation::Output(2), own]).unwrap();
    assert_eq!(found.streams.iter().map(|it| it.jitter().0).collect::<Vec<_>>(), [2, 1, 0]);
    assert_eq!(find(&[]).map(|it| it.streams), Ok(vec![]));
    let wrong = propagate(&[own], LONGEST, 9, |_| Ok::<_, ()>(vec![]));
    assert_eq!(wrong, Err(PropagationError::Delays(0)));
}

/// Two tasks on each of two processors. The lower one of each activates the upper one of the other,
/// so that the jitter of each delays the other more.
#[test]
fn jitter_that_feeds_on_itself_is_found() {
    let activations = |period| {
        let own = Activation::Own(stream(period, 0, 0, period));
        [own, Activation::Output(0), own, Activation::Output(2)]
    };
    // Tasks 3 and 0 share a processor, and 1 and 2; the triggered ones have the higher priority.
    let find = |period: u64, [wcet_above, wcet_below]: [u64; 2], limit| {
        propagate(&activations(period), ns(limit), 10_000, |streams| {
            let task = |step: usize, wcet| {
                let task = Task::new(ns(wcet), ns(period)).unwrap();
                task.with_jitter(streams[step].jitter()).unwrap()
            };
            let mut delays = vec![None; 4];
            for [above, below] in [[3, 0], [1, 2]] {
                let tasks = [task(above, wcet_above), task(below, wcet_below)];
                let responses = response_times(&Workload::new(&tasks));
                for (step, (task, response)) in
                    [above, below].into_iter().zip(tasks.iter().zip(responses))
                {
                    delays[step] = Delay::of_task(task, ns(1), &response?);
                }
            }
            Ok::<_, Failure>(delays.into_iter().map(Option::unwrap).collect())
        })
    };
    let calm = find(100, [20, 20], LONGEST.0).unwrap();
    assert_eq!(calm.streams[1].jitter(), ns(39), "20 of itself, 20 of the one above, less 1");
    // With 60 % above, a jitter of 10 adds 15 to the other one, although all use 90 % only.
    let error = find(100, [60, 30], 10_000).unwrap_err();
    let grows = matches!(error, PropagationError::Diverges { jitter, .. } if jitter > ns(10_000));
    assert!(grows, "{error:?}");
    let error = find(100, [60, 41], LONGEST.0).unwrap_err();
    assert!(matches!(error, PropagationError::NoBound(Failure::Overload { .. })), "{error:?}");
}
