//! Time lines of the run without isolation, of the simulation, and of the run with
//! the plan.

use super::Part;
use super::label::{class, escape, prose};
use super::timeline::{LANES_MAX, PIECES_MAX, draw};
use super::units::instant;
use crate::proof::{Proof, Run, Timeline};

/// Returns the part, if there is a time line.
pub fn part(proof: &Proof) -> Option<Part> {
    let runs = [
        ("Executed without isolation", &proof.without),
        ("Executed with the plan", &proof.with),
        ("Simulated with the plan", &proof.simulation),
    ];
    let line = |run: &Option<Run>| run.as_ref()?.timeline.clone();
    let figures: String = runs
        .into_iter()
        .filter_map(|(name, run)| Some((name, line(run)?)))
        .filter(|(_, line)| !line.lanes.is_empty())
        .map(|(name, line)| figure(name, &line))
        .collect();
    if figures.is_empty() {
        return None;
    }
    let html = format!(
        "<p>Each lane shows what a PCPU, one of its VCPUs or a task did. Times are those of the guests. A VCPU that has a PCPU for itself runs all the time: \
         the hypervisor does not notice when it sleeps. A run and its simulation do not show the same jobs: compare shapes, not instants.</p>\n{}{figures}",
        legend(proof)
    );
    Some(Part { id: "time", nav: "Time lines", title: "What happened when", html })
}

fn figure(name: &str, line: &Timeline) -> String {
    let (svg, shown) = draw(line, &summary(name, line));
    let mut caption = format!("<strong>{}</strong>", escape(name));
    if !line.reason.is_empty() {
        caption.push_str(&format!(" – {}", prose(&line.reason)));
    }
    caption.push_str(&format!(", {} to {}.", instant(shown.start), instant(shown.end)));
    if shown.start > line.window_ns.start {
        caption.push_str(&format!(
            " The middle of the window alone: the whole has more than {PIECES_MAX} bars and marks."
        ));
    }
    if line.lanes.len() > LANES_MAX {
        caption.push_str(&format!(" {} more lanes are left out.", line.lanes.len() - LANES_MAX));
    }
    format!(
        "<figure class=\"timeline\">\n<figcaption>{caption}</figcaption>\n\
         <div class=\"zoom\" hidden><button type=\"button\" data-zoom=\"in\">Zoom in</button>\
         <button type=\"button\" data-zoom=\"out\">Zoom out</button>\
         <button type=\"button\" data-zoom=\"left\" aria-label=\"Earlier\">◀</button>\
         <button type=\"button\" data-zoom=\"right\" aria-label=\"Later\">▶</button>\
         <button type=\"button\" data-zoom=\"all\">Show all</button>\
         <output aria-live=\"polite\"></output></div>\n\
         <div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{}\">{svg}</div>\n</figure>\n",
        escape(&format!("Time line: {name}. Keys: plus and minus zoom, arrows move, 0 shows all."))
    )
}

/// Returns the text that a reader hears who does not see the drawing.
fn summary(name: &str, line: &Timeline) -> String {
    let marks = line.lanes.iter().flat_map(|lane| &lane.marks);
    let misses = marks.filter(|mark| mark.kind == crate::proof::MarkKind::Miss).count();
    format!("{name}: {} lanes, {misses} missed deadlines in the window", line.lanes.len())
}

fn legend(proof: &Proof) -> String {
    let mut items: String = proof
        .vms
        .iter()
        .enumerate()
        .map(|(place, vm)| {
            let class = class(Some(place));
            format!("<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"14\" height=\"14\"/></svg>{}</li>", escape(&vm.name))
        })
        .collect();
    for (kind, text) in
        [("throttled", "throttled"), ("holds", "has a resource"), ("waits", "waits for a resource")]
    {
        items.push_str(&format!(
            "<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"{kind}\" y=\"2\" width=\"14\" height=\"10\"/></svg>{text}</li>"
        ));
    }
    for (symbol, text) in [
        ("release", "release of a job"),
        ("finish", "job complete"),
        ("deadline", "deadline met"),
        ("miss", "deadline missed"),
    ] {
        items.push_str(&format!(
            "<li><svg class=\"key\" viewBox=\"0 0 14 20\" aria-hidden=\"true\"><use href=\"#{symbol}\" class=\"{symbol}\" x=\"7\" y=\"19\"/></svg>{text}</li>"
        ));
    }
    format!("<ul class=\"legend\">{items}</ul>\n")
}
