//! Chains for people: their bounds, and the times that were seen.

use lab::amount::time;
use lab::chains::Seen;
use report::text::table;
use system::description::{Channel, System};
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

/// Notes on steps from which no channel leads to the VM of the next one, which may get its data in
/// other ways: through a device, or through what a machine controls.
pub fn without_channel(system: &System) -> Vec<String> {
    let mut notes = Vec::new();
    for chain in &system.chains {
        for (from, to) in chain.steps.windows(2).map(|steps| (steps[0].vm, steps[1].vm)) {
            let leads = |it: &Channel| it.from == from && it.to.contains(&to);
            if from != to && !system.channels.iter().any(leads) {
                let [from, to] = [from, to].map(|vm| system.vms[vm].name.value.as_str());
                notes.push(format!(
                    "no channel leads from VM `{from}` to VM `{to}`: how data of chain `{}` gets \
                     there, and how long that takes, is not known",
                    chain.name.value
                ));
            }
        }
    }
    notes.dedup();
    notes
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
