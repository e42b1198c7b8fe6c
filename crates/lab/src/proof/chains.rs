//! The analysed, simulated and executed times of each chain.

use ::trace::Trace;
use report::proof::{Chain, ChainTimes};
use report::verdicts::{Row, Rule};
use verdict::{ChainVerdict, StepVerdict, Verdict};

use crate::chains::{Observed, of_trace};
use crate::load::System;
use crate::verdicts::{both, places};

/// Returns the chains with their bounds.
pub fn chains(with: &Verdict, without: Option<&Verdict>) -> Vec<Chain> {
    let chain = |(index, with): (usize, &ChainVerdict)| Chain {
        name: with.chain.clone(),
        steps: with.steps.iter().map(StepVerdict::name).collect(),
        max_reaction_ns: with.max_reaction_ns,
        max_age_ns: with.max_age_ns,
        bounds_without: without.and_then(|it| it.chains.get(index)).map(bounds).unwrap_or_default(),
        bounds_with: bounds(with),
        reason_with: with.why(),
        ..Chain::default()
    };
    with.chains.iter().enumerate().map(chain).collect()
}

/// Adds the observations in a trace to the chains.
pub fn add(
    chains: &mut [Chain],
    system: &System,
    trace: &Trace,
    of: impl Fn(&mut Chain) -> &mut ChainTimes,
) {
    let Some(described) = &system.description else { return };
    for (chain, found) in chains.iter_mut().zip(of_trace(described, trace)) {
        let Observed { reaction_max_ns, age_max_ns, .. } = found;
        *of(chain) = ChainTimes { reaction_ns: reaction_max_ns, age_ns: age_max_ns };
    }
}

fn bounds(chain: &ChainVerdict) -> ChainTimes {
    ChainTimes { reaction_ns: chain.reaction_ns, age_ns: chain.age_ns }
}

/// Returns the verdicts on the bounds of a chain, and on its limits if it has some.
pub fn rows(chain: &Chain) -> Vec<Row> {
    let mut late: Vec<String> = chain.reason_with.iter().cloned().collect();
    let mut above = Vec::new();
    for (what, found) in [("simulation", chain.simulated), ("run", chain.with)] {
        let observed = observed(found);
        let ChainTimes { reaction_ns, age_ns } = chain.bounds_with;
        let beyond = observed.above(reaction_ns, age_ns, &chain.name);
        // A limit below a bound that is exceeded is said already.
        if beyond.is_empty() && chain.reason_with.is_some() {
            let beyond = observed.late(chain.max_reaction_ns, chain.max_age_ns, &chain.name);
            late.extend(beyond.iter().map(|it| format!("in the {what} {it}")));
        }
        above.extend(beyond.iter().map(|it| format!("COUNTEREXAMPLE: in the {what} {it}")));
    }
    let times = |it: &ChainTimes| both(it.reaction_ns, it.age_ns);
    let row = |rule, reasons| {
        Row::new(rule, places::chain(&chain.name))
            .figure("bound", times(&chain.bounds_with))
            .figure("limit", both(chain.max_reaction_ns, chain.max_age_ns))
            .figure("simulated", times(&chain.simulated))
            .figure("executed", times(&chain.with))
            .fails_if(reasons)
    };
    let judged = chain.has_limit() || !late.is_empty();
    let limited = judged.then(|| row(Rule::Chain, late));
    [row(Rule::Bound, above)].into_iter().chain(limited).collect()
}

fn observed(found: ChainTimes) -> Observed {
    let ChainTimes { reaction_ns, age_ns } = found;
    Observed { outputs: 0, reaction_max_ns: reaction_ns, age_max_ns: age_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(chain: &Chain) -> Vec<String> {
        super::super::judge::failures(&rows(chain))
    }

    fn times(reaction: u64, age: u64) -> ChainTimes {
        ChainTimes { reaction_ns: Some(reaction), age_ns: Some(age) }
    }

    #[test]
    fn each_violation_is_named() {
        let good = Chain {
            name: "c".into(),
            max_reaction_ns: Some(100),
            max_age_ns: Some(100),
            bounds_with: times(90, 90),
            simulated: times(90, 90),
            with: times(80, 80),
            ..Chain::default()
        };
        assert_eq!(failures(&good), Vec::<String>::new());
        let above = Chain { with: times(91, 90), ..good.clone() };
        let reaction = "COUNTEREXAMPLE: in the run the reaction of chain `c` took 91 ns, longer than its bound of 90 ns";
        assert_eq!(failures(&above), [reaction]);
        let above = Chain { simulated: times(90, 95), ..good.clone() };
        let age = "COUNTEREXAMPLE: in the simulation the data of chain `c` became 95 ns old, older than its bound of 90 ns";
        assert_eq!(failures(&above), [age]);
        let late = Chain {
            bounds_with: times(120, 90),
            reason_with: Some("late".into()),
            with: times(110, 90),
            ..good
        };
        let run =
            "in the run the reaction of chain `c` took 110 ns, longer than its limit of 100 ns";
        assert_eq!(failures(&late), ["late", run]);
    }
}
