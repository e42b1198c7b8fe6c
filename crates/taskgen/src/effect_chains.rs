//! Cause-effect chains over tasks with periods, as in engine control units.
//!
//! Kramer, Ziegenbein and Hamann, "Real world automotive benchmarks for free", WATERS
//! 2015: a chain has one to three periods (Table VI), and two to five runnables of each
//! (Table VII). Here all periods of the tasks and all orders of the runnables are equally
//! likely, as in the evaluation of Günzel, Chen, Ueter, von der Brüggen, Dürr and Chen,
//! "Timing Analysis of Asynchronized Distributed Cause-Effect Chains", RTAS 2021.

use policy::time::Duration;

use crate::Random;

/// Percent of chains with one, two and three periods: Table VI.
const PERIODS: [f64; 3] = [70.0, 20.0, 10.0];
/// Percent of parts of a chain with two, three, four and five runnables: Table VII.
const RUNNABLES: [f64; 4] = [30.0, 40.0, 20.0, 10.0];
/// Fewest runnables of a period in a chain.
const FEWEST: usize = 2;

/// Returns a chain: indices of `periods`, in the order of the data, none of them twice. `None` if
/// there are not so many different periods, or tasks of one of them, as were drawn.
pub fn sample(random: &mut Random, periods: &[Duration]) -> Option<Vec<usize>> {
    let mut different: Vec<Duration> = periods.to_vec();
    different.sort_unstable();
    different.dedup();
    let count = random.weighted(&PERIODS) + 1;
    random.shuffle(&mut different);
    let mut chain = Vec::new();
    for period in different.get(..count)? {
        let indexed = periods.iter().enumerate().filter(|(_, it)| *it == period);
        let mut tasks: Vec<usize> = indexed.map(|(index, _)| index).collect();
        random.shuffle(&mut tasks);
        chain.extend(tasks.get(..random.weighted(&RUNNABLES) + FEWEST)?);
    }
    random.shuffle(&mut chain);
    Some(chain)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Six tasks of each of four periods.
    fn periods() -> Vec<Duration> {
        (0..24).map(|index| Duration(10 * (index % 4 + 1))).collect()
    }

    #[test]
    fn chains_are_as_published() {
        let (periods, mut random) = (periods(), Random::new(2015, 1));
        let (mut of_periods, mut of_tasks) = (BTreeMap::new(), BTreeMap::new());
        let drawn = 20_000;
        for _ in 0..drawn {
            let chain = sample(&mut random, &periods).expect("a chain");
            assert_eq!(chain.iter().collect::<BTreeSet<_>>().len(), chain.len(), "{chain:?}");
            let mut counts: BTreeMap<Duration, usize> = BTreeMap::new();
            for index in chain {
                *counts.entry(periods[index]).or_default() += 1;
            }
            *of_periods.entry(counts.len()).or_insert(0) += 1;
            counts.into_values().for_each(|count| *of_tasks.entry(count).or_insert(0) += 1);
        }
        let parts: u32 = of_tasks.values().sum();
        let expected = |counts: &BTreeMap<usize, u32>, all: u32, shares: &[f64], first: usize| {
            assert_eq!(counts.len(), shares.len());
            for (count, share) in (first..).zip(shares) {
                let found = f64::from(counts[&count]) * 100.0 / f64::from(all);
                assert!((found - share).abs() < 1.0, "{count}: {found} %");
            }
        };
        expected(&of_periods, drawn, &PERIODS, 1);
        expected(&of_tasks, parts, &RUNNABLES, FEWEST);
    }

    #[test]
    fn a_chain_needs_enough_tasks() {
        let mut random = Random::new(1, 1);
        assert_eq!(sample(&mut random, &[]), None);
        let one_of_each = [Duration(1), Duration(2), Duration(3)];
        assert!((0..100).all(|_| sample(&mut random, &one_of_each).is_none()));
        // Five tasks of one period are enough, unless several periods are drawn.
        let one_period = [Duration(1); 5];
        let found = (0..1000).filter(|_| sample(&mut random, &one_period).is_some()).count();
        assert!((650..750).contains(&found), "{found}");
    }
}
