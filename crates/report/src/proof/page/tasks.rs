//! The tasks: one table with everything, and charts.

use super::Part;
use super::label::{self, escape};
use super::units::{count, exact, ms, percent};
use super::{bounds, histogram};
use crate::proof::{Proof, Responses, Task};

/// Most rows of the table.
const TASKS_MAX: usize = 500;
/// Most histograms.
const HISTOGRAMS_MAX: usize = 24;

/// Returns the part, if there are tasks.
pub fn part(proof: &Proof) -> Option<Part> {
    if proof.tasks.is_empty() {
        return None;
    }
    let refutes = match proof.measured {
        false => {
            "A simulated or executed time above it would refute the analysis; it would be marked."
        }
        true => {
            "A simulated time above it would refute the analysis. An executed one that is marked says that Linux took more time \
             than is described."
        }
    };
    let mut html = format!(
        "<p>A bound is what no response time exceeds while the assumptions hold. {refutes} Times are in milliseconds, rounded up.</p>\n"
    );
    html.push_str(&table(proof));
    if let Some(chart) = bounds::chart(proof) {
        html.push_str(&format!(
            "<figure>\n<figcaption><strong>Response times against deadlines</strong>: with the plan all signs have to lie \
             inside of their bar, and all bars before the deadline.</figcaption>\n{}<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Chart of response times\">{chart}</div>\n</figure>\n",
            bounds::LEGEND
        ));
    }
    html.push_str(&terms(proof));
    html.push_str(&histograms(proof));
    Some(Part {
        id: "tasks",
        nav: "Tasks",
        title: "Every task: analysed, simulated, executed",
        html,
    })
}

fn table(proof: &Proof) -> String {
    let mut rows = String::new();
    for task in proof.tasks.iter().take(TASKS_MAX) {
        rows.push_str(&row(
            &label::vcpu(proof, task.vm, task.vcpu),
            &label::class(Some(task.vm)),
            task,
        ));
    }
    let more = proof.tasks.len().saturating_sub(TASKS_MAX);
    let more = match more {
        0 => String::new(),
        more => format!("<p>{more} more tasks are not shown.</p>\n"),
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of tasks\">\n<table class=\"tasks\">\n\
         <caption>Response times in ms</caption>\n<thead>\n<tr><td colspan=\"5\"></td>\
         <th scope=\"colgroup\" colspan=\"3\" class=\"group\">without isolation</th>\
         <th scope=\"colgroup\" colspan=\"5\" class=\"group\">with the plan</th></tr>\n\
         <tr><th scope=\"col\">task</th><th scope=\"col\">VCPU</th><th scope=\"col\" class=\"n\">WCET</th>\
         <th scope=\"col\" class=\"n\">period</th><th scope=\"col\" class=\"n\">deadline</th>\
         <th scope=\"col\" class=\"n first\">bound</th><th scope=\"col\" class=\"n\">executed, longest</th><th scope=\"col\" class=\"n\">missed</th>\
         <th scope=\"col\" class=\"n first\">bound</th><th scope=\"col\" class=\"n\">simulated, longest</th><th scope=\"col\" class=\"n\">executed, longest</th>\
         <th scope=\"col\" class=\"n\">of the bound</th><th scope=\"col\" class=\"n\">missed</th></tr>\n</thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{more}"
    )
}

fn row(vcpu: &str, class: &str, task: &Task) -> String {
    let optional = |ns: Option<u64>| ns.map_or("–".into(), ms);
    let cell = |class: &str, text: &str| format!("<td class=\"n {class}\">{text}</td>");
    let longest = |of: &Option<Responses>| of.as_ref().and_then(|it| it.max_ns);
    // A bound that is too long, or none, is bad; so is a response behind the bound.
    let bound = |bound: Option<u64>, reason: &Option<String>, first: &str| {
        let late = reason.is_some()
            || bound.zip(task.deadline_ns).is_some_and(|(bound, deadline)| bound > deadline);
        let text = bound.map_or_else(|| if late { "none".into() } else { "–".into() }, ms);
        cell(&format!("{first} {}", if late { "bad" } else { "" }), &text)
    };
    let above =
        |of: Option<u64>, limit: Option<u64>| of.zip(limit).is_some_and(|(of, limit)| of > limit);
    let time = |of: &Option<Responses>, limit: Option<u64>, word: &str| {
        let longest = longest(of);
        match above(longest, limit) {
            true => cell("bad", &format!("{}{word}", optional(longest))),
            false => cell("", &optional(longest)),
        }
    };
    let missed = |of: &Option<Responses>| match of {
        None => cell("", "–"),
        Some(of) => {
            let text = format!("{} of {}", count(of.missed), count(of.jobs.max(of.missed)));
            cell(if of.missed > 0 { "bad" } else { "good" }, &text)
        }
    };
    let beyond = "<span class=\"beyond\"> above the bound</span>";
    let of_bound = longest(&task.with)
        .zip(task.bound_with_ns)
        .and_then(|(longest, bound)| percent(longest, bound));
    format!(
        "<tr><th scope=\"row\">{}</th><td><span class=\"swatch {class}\"></span>{}</td>{}{}{}{}{}{}{}{}{}{}{}</tr>\n",
        escape(&task.name),
        escape(vcpu),
        cell("", &optional(task.wcet_ns)),
        cell("", &optional(task.period_ns)),
        cell("", &optional(task.deadline_ns)),
        bound(task.bound_without_ns, &task.reason_without, "first"),
        if above(longest(&task.without), task.bound_without_ns) {
            time(&task.without, task.bound_without_ns, beyond)
        } else {
            time(&task.without, task.deadline_ns, "")
        },
        missed(&task.without),
        bound(task.bound_with_ns, &task.reason_with, "first"),
        time(&task.simulated, task.bound_with_ns, beyond),
        time(&task.with, task.bound_with_ns, beyond),
        cell("", &of_bound.map_or("–".into(), |it| format!("{it} %"))),
        missed(&task.with),
    )
}

/// Returns the table of the parts of bounds.
fn terms(proof: &Proof) -> String {
    let tasks: Vec<&Task> =
        proof.tasks.iter().take(TASKS_MAX).filter(|task| !task.terms.is_empty()).collect();
    if tasks.is_empty() {
        return String::new();
    }
    let rows: String = tasks
        .iter()
        .map(|task| {
            let whole: u64 = task.terms.iter().fold(0, |sum, term| sum.saturating_add(term.time_ns));
            let parts: Vec<String> = task
                .terms
                .iter()
                .map(|term| {
                    let share = percent(term.time_ns, whole).unwrap_or_default();
                    format!("<li><span class=\"part\">{} ms</span> {} <small>({share} %)</small></li>", ms(term.time_ns), escape(&term.name))
                })
                .collect();
            format!(
                "<tr><th scope=\"row\">{} {}</th><td class=\"n\">{}</td><td><ol class=\"terms\">{}</ol></td></tr>\n",
                escape(&label::vcpu(proof, task.vm, task.vcpu)),
                escape(&task.name),
                task.bound_with_ns.map_or("–".into(), ms),
                parts.concat()
            )
        })
        .collect();
    format!(
        "<details>\n<summary>What the bounds consist of</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Parts of the bounds\">\n<table>\n\
         <caption>Bounds with the plan, in ms, and their parts, the longest first</caption>\n\
         <thead><tr><th scope=\"col\">task</th><th scope=\"col\" class=\"n\">bound</th><th scope=\"col\">parts</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n</details>\n"
    )
}

fn histograms(proof: &Proof) -> String {
    let mut charts: Vec<String> = Vec::new();
    for (place, task) in proof.tasks.iter().enumerate() {
        let name = label::task(proof, place);
        let Some(chart) = histogram::chart(&name, task) else { continue };
        let deadline = task.deadline_ns.map(|ns| format!(" · deadline {}", exact(ns)));
        charts.push(format!(
            "<figure>\n<figcaption>{}{}</figcaption>\n{chart}\n</figure>\n",
            escape(&name),
            deadline.unwrap_or_default()
        ));
    }
    if charts.is_empty() {
        return String::new();
    }
    let more = match charts.len().saturating_sub(HISTOGRAMS_MAX) {
        0 => String::new(),
        more => format!("<p>{more} more tasks have no histogram here.</p>\n"),
    };
    charts.truncate(HISTOGRAMS_MAX);
    format!(
        "<h3>How often it took how long</h3>\n<p>Response times in ms. <span class=\"swatch hist-with\"></span>Upwards: jobs of the run with the \
         plan; <span class=\"swatch hist-without\"></span>downwards: without isolation. Lengths are logarithmic, so that a \
         single late job can be seen; the last bar has all that took longer. \
         Where nothing comes near the deadline, the axis ends before it.</p>\n<div class=\"charts\">\n{}</div>\n{more}",
        charts.concat()
    )
}
