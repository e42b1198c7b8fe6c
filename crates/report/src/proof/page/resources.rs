//! Resources that tasks share: waiting for them and holding them.

use super::Part;
use super::label::{self, escape};
use super::units::{count, time};
use crate::proof::{Proof, Section};

/// Most rows of a table.
const ROWS_MAX: usize = 200;

/// Returns the part, if there are critical sections.
pub fn part(proof: &Proof) -> Option<Part> {
    let runs = [
        ("Executed without isolation", &proof.without),
        ("Executed with the plan", &proof.with),
        ("Simulated with the plan", &proof.simulation),
    ];
    let tables: String = runs
        .into_iter()
        .filter_map(|(name, run)| Some((name, &run.as_ref()?.sections)))
        .filter(|(_, sections)| !sections.is_empty())
        .map(|(name, sections)| table(proof, name, sections))
        .collect();
    let html = format!(
        "<p>Who has a resource makes others wait, on other PCPUs too. Bounds contain the longest of these times that the analysis \
         allows.</p>\n<div class=\"tables\">\n{tables}</div>\n"
    );
    (!tables.is_empty()).then_some(Part {
        id: "resources",
        nav: "Resources",
        title: "Shared resources",
        html,
    })
}

fn table(proof: &Proof, name: &str, sections: &[Section]) -> String {
    let rows: String = sections
        .iter()
        .take(ROWS_MAX)
        .map(|it| {
            format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                escape(&it.resource),
                escape(&label::task(proof, it.task)),
                count(it.times),
                count(it.waits),
                time(it.wait_max_ns),
                time(it.hold_max_ns)
            )
        })
        .collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Critical sections: {0}\">\n<table>\n<caption>{0}</caption>\n<thead><tr>\
         <th scope=\"col\">resource</th><th scope=\"col\">task</th><th scope=\"col\" class=\"n\">times</th><th scope=\"col\" class=\"n\">waited</th>\
         <th scope=\"col\" class=\"n\">longest wait</th><th scope=\"col\" class=\"n\">longest hold</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n",
        escape(name)
    )
}
