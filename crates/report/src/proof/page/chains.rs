//! Chains: how long data takes through several tasks, bounded and seen.

use super::Part;
use super::label::escape;
use super::units::time;
use crate::proof::{Chain, ChainTimes, Proof};

/// Most rows of the table: two of each chain that a description can have.
const ROWS_MAX: usize = 512;

/// Returns the part, if there are chains.
pub fn part(proof: &Proof) -> Option<Part> {
    if proof.chains.is_empty() {
        return None;
    }
    let compared = proof.without.is_some();
    let rows = proof.chains.iter().flat_map(|chain| {
        [
            row(chain, compared, "reaction", chain.max_reaction_ns, |it| it.reaction_ns),
            row(chain, compared, "data age", chain.max_age_ns, |it| it.age_ns),
        ]
    });
    let rows: String = rows.take(ROWS_MAX).collect();
    let without = match compared {
        true => {
            "<th scope=\"col\" class=\"n\">bound without isolation</th>\
             <th scope=\"col\" class=\"n\">executed without isolation</th>"
        }
        false => "",
    };
    let html = format!(
        "<p>Each task reads the latest output of the task before. The <em>reaction</em> is the time until a change shows in the output of \
         the last task; the <em>data age</em> is the time from reading until the output that was made from it is replaced. What was seen counts as if \
         each job read when it was released.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Times of chains\">\n<table>\n<caption>Times of chains</caption>\n<thead><tr>\
         <th scope=\"col\">chain</th><th scope=\"col\">steps</th><th scope=\"col\">time</th><th scope=\"col\" class=\"n\">may be</th>\
         <th scope=\"col\" class=\"n\">bound</th><th scope=\"col\" class=\"n\">simulated</th><th scope=\"col\" class=\"n\">executed</th>{without}\
         <th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    );
    Some(Part { id: "chains", nav: "Chains", title: "Chains", html })
}

fn row(
    chain: &Chain,
    compared: bool,
    what: &str,
    limit: Option<u64>,
    of: fn(&ChainTimes) -> Option<u64>,
) -> String {
    let shown = |time_ns: Option<u64>| time_ns.map_or("–".into(), time);
    let bound = of(&chain.bounds_with);
    let seen = [of(&chain.simulated), of(&chain.with)];
    let cell = |time_ns: Option<u64>| format!("<td class=\"n\">{}</td>", shown(time_ns));
    let mut cells = cell(limit) + &cell(bound);
    for time_ns in seen {
        let above = match time_ns.zip(bound) {
            Some((time_ns, bound)) if time_ns > bound => {
                "<span class=\"beyond\"> above the bound</span>"
            }
            _ => "",
        };
        cells.push_str(&format!("<td class=\"n\">{}{above}</td>", shown(time_ns)));
    }
    if compared {
        cells.push_str(&(cell(of(&chain.bounds_without)) + &cell(of(&chain.without))));
    }
    let most = seen.into_iter().flatten().chain(bound).max();
    let verdict = match (limit, bound) {
        (None, None) => "no bound",
        (None, Some(_)) => "no limit",
        (Some(_), None) => "✗ no bound",
        (Some(limit), Some(_)) if most > Some(limit) => "✗ above the limit",
        _ => "✓ within the limit",
    };
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{what}</td>{cells}<td>{verdict}</td></tr>\n",
        escape(&chain.name),
        escape(&chain.steps.join(" → ")),
    )
}
