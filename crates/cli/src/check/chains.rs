//! Chains for people: their bounds, and the times that were seen.

use lab::amount::time;
use lab::chains::Seen;
use report::text::table;
use verdict::{ChainVerdict, StepVerdict, Verdict};

/// The chains with their bounds and limits.
pub fn show(verdict: &Verdict) -> String {
    if verdict.chains.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = verdict.chains.iter().map(row).collect();
    let heading = ["chain", "steps", ">reaction", ">may be", ">data age", ">may be", "in time"];
    format!("\n{}", table(&heading, &rows))
}

fn row(chain: &ChainVerdict) -> Vec<String> {
    let steps: Vec<_> = chain.steps.iter().map(StepVerdict::name).collect();
    let time_or_none = |time_ns: Option<u64>| time_ns.map_or("-".into(), time);
    let in_time = match (chain.max_reaction_ns, chain.max_age_ns) {
        (None, None) => "-",
        _ if chain.ok => "yes",
        _ => "no",
    };
    vec![
        chain.chain.clone(),
        steps.join(" -> "),
        time_or_none(chain.reaction_ns),
        time_or_none(chain.max_reaction_ns),
        time_or_none(chain.age_ns),
        time_or_none(chain.max_age_ns),
        in_time.into(),
    ]
}

/// The times of chains in a simulation or a run, beside their bounds and limits.
pub fn seen(chains: &[Seen]) -> String {
    if chains.is_empty() {
        return String::new();
    }
    let row = |it: &Seen| {
        let (found, judged) = (&it.observed, &it.judged);
        let times = [
            (found.reaction_max_ns, judged.reaction_ns, judged.max_reaction_ns),
            (found.age_max_ns, judged.age_ns, judged.max_age_ns),
        ];
        let times = times.into_iter().flat_map(|(max, bound, limit)| [max, bound, limit]);
        let times = times.map(|time_ns| time_ns.map_or("-".into(), time));
        [judged.chain.clone(), found.outputs.to_string()].into_iter().chain(times).collect()
    };
    let rows: Vec<Vec<String>> = chains.iter().map(row).collect();
    let heading =
        ["chain", ">outputs", ">reaction", ">bound", ">may be", ">data age", ">bound", ">may be"];
    format!("\n{}", table(&heading, &rows))
}
