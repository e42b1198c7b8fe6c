//! The reasons for the decisions of the plan.

use super::Part;
use super::label::prose;
use crate::proof::{Decision, Proof};

/// Most decisions that are shown.
const SHOWN_MAX: usize = 64;

/// Returns the part, if the planner decided something.
pub fn part(proof: &Proof) -> Option<Part> {
    let rows: String = proof.decisions.iter().take(SHOWN_MAX).map(row).collect();
    let more = proof.decisions.len().saturating_sub(SHOWN_MAX);
    let more =
        if more > 0 { format!("<p>{more} more are not shown.</p>\n") } else { String::new() };
    let html = format!(
        "<p>The description left these to the planner. Each other decision was tried with all else as it is, and judged as all \
         bounds are.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of decisions\">\n<table>\n\
         <caption>Decisions of the planner</caption>\n<thead><tr><th scope=\"col\">decision</th><th scope=\"col\">value</th>\
         <th scope=\"col\">effect of other decisions</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{more}"
    );
    (!rows.is_empty()).then_some(Part {
        id: "decisions",
        nav: "Why",
        title: "Why the plan is as it is",
        html,
    })
}

fn row(decision: &Decision) -> String {
    let trials: Vec<String> = decision.trials.iter().map(|trial| prose(trial)).collect();
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n",
        prose(&decision.name),
        prose(&decision.value),
        trials.join("<br>")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_stand_with_what_was_tried() {
        assert!(part(&Proof::default()).is_none(), "nothing was open");
        let decision = Decision {
            name: "the budget of VCPU 0 of `a<b`".into(),
            value: "1 ms in 5 ms".into(),
            trials: vec!["with 2 us less: task `t` is late by 1 us".into()],
        };
        let proof = Proof { decisions: vec![decision; SHOWN_MAX + 3], ..Proof::default() };
        let html = part(&proof).expect("a part").html;
        for text in ["<code>a&lt;b</code>", "1 ms in 5 ms", "<code>t</code> is late", "3 more are"]
        {
            assert!(html.contains(text), "{text}: {html}");
        }
    }
}
