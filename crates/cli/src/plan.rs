//! `bulkhead plan`: makes a plan out of a description.

mod front;
mod options;
mod search;
mod show;
mod why;
mod written;

use std::path::Path;

use lab::advice;
use lab::keep;
use planner::completion::{self, Changed, Outcome, Reason};
use planner::report::Report;
use serde::Serialize;
use verdict::Verdict;

use crate::check::chains;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::overview;
use crate::status::Status;
use written::Written;

pub use options::PlanOptions;

/// Runs the command.
pub fn plan(options: &PlanOptions, as_json: bool) -> Result<Status, Failure> {
    if let Some(target) = options.output.as_deref().filter(|_| options.front.is_none()) {
        image::check_target(target)?;
    }
    options.check()?;
    let targets = [options.target(), options.front.as_ref().and_then(|chart| chart.as_deref())];
    for target in targets.into_iter().flatten() {
        keep::description(target, &options.file)?;
    }
    if let Some(chart) = &options.front {
        return front::front(options, chart.as_deref(), as_json);
    }
    let search::Found { mut system, outcome, changes } = search::plan(options)?;
    let target = match options.output {
        Some(_) => options.target().map(Path::to_owned),
        None => Some(written::beside(&system)?),
    };
    let written = Written::new(&mut system, target.as_deref())?;
    let described = system.description.as_deref();
    let verdict = Verdict::of_plan(&system.plan, described);
    let advice = described.map(|described| advice::advice(described, &verdict));
    let advice = advice.unwrap_or_default();
    let raised = described.map(advice::raised).unwrap_or_default();
    let notes = [lab::explain::unserved(&verdict), raised].concat();
    let report = Report::new(&verdict, described);
    let reasons = match (&system.open, described) {
        (Some(open), Some(planned)) if options.explain => Some(completion::reasons(open, planned)),
        _ => options.explain.then(Vec::new),
    };
    let replaced = target.as_ref().is_some_and(|target| target.is_file());
    if let Some(target) = &target {
        image::write(target, written.text().as_bytes())?;
    }
    match target {
        _ if as_json => json::print(&Document {
            ok: verdict.schedulable,
            name: &system.plan.name,
            plan_file: target.map(|target| target.display().to_string()),
            replaced,
            plan_dts: written.dts(),
            plan_toml: written.toml(),
            report: &report,
            analysis: &verdict,
            advice: &advice,
            notes: &notes,
            search: &outcome,
            changes: changes.as_deref(),
            reasons: reasons.as_deref(),
        })?,
        None => output::print(written.text())?,
        Some(target) => {
            let verb = if replaced { "replaced" } else { "wrote" };
            let (system, report) = (overview::vms_of(&system.plan), show::show(&report));
            let chains = chains::show(&verdict);
            let late = lab::explain::reasons(&verdict);
            let advice: String =
                advice.iter().map(|advice| format!("\nhelp: {advice}\n")).collect();
            let notes: String = notes.iter().map(|note| format!("\nnote: {note}\n")).collect();
            let target = target.display();
            let searched = search::show(options, &outcome);
            let changed = options.from.as_deref().zip(changes.as_deref());
            let changed = changed.map_or(String::new(), |(old, it)| why::changes(old, it));
            let explained = reasons.as_deref().map_or(String::new(), why::reasons);
            output::print(&format!(
                "{verb} {target}\n\n{system}{report}{chains}{searched}{changed}{explained}{late}{advice}{notes}"
            ))?;
        }
    }
    // A plan is written also where deadlines can be missed: it can be run and looked at.
    Ok(if verdict.schedulable { Status::Yes } else { Status::No })
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    name: &'a str,
    plan_file: Option<String>,
    replaced: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_dts: Option<&'a str>,
    /// The description with everything decided, for a machine that is only analysed.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_toml: Option<&'a str>,
    report: &'a Report,
    analysis: &'a Verdict,
    advice: &'a [String],
    notes: &'a [String],
    search: &'a Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a [Changed]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<&'a [Reason]>,
}
