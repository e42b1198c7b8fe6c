//! The first page: all systems and all results.

use super::change::{Change, summary};
use super::data::{Entry, Kind};
use super::table::{date, links, note_on_dates, part, table, verdict, version};
use super::{Site, System, system};
use crate::proof::page::label::escape;
use crate::proof::page::units::counted;

/// Returns the page.
pub fn html(site: &Site, systems: &[System<'_>]) -> String {
    let mut body = String::new();
    if !systems.is_empty() {
        body.push_str("<section>\n<h2>Systems</h2>\n");
        body.push_str(&table("Systems", &SYSTEMS, &systems.iter().map(latest).collect::<Vec<_>>()));
        body.push_str(
            "<p><strong>Bounded by deadline</strong> counts tasks whose bound is no longer than their deadline, and \
             reactions and data ages of chains whose bound is no longer than their limit. <strong>Bounds kept</strong> \
             counts those whose longest executed time is no longer than their bound, in runs whose times are \
             exact.</p>\n</section>\n",
        );
    }
    let mut entries: Vec<&Entry> = site.entries.iter().collect();
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.time), &entry.name, &entry.id));
    let rows: Vec<Vec<String>> = entries.iter().map(|entry| row(entry, systems)).collect();
    body.push_str("<section>\n<h2>All results, the newest first</h2>\n");
    body.push_str(&table("All results", &RESULTS, &rows));
    body.push_str(note_on_dates(site.entries.iter()));
    body.push_str("</section>\n");
    super::shell::document("Results", &counted(site.entries.len() as u64, "result"), &body)
}

const SYSTEMS: [&str; 8] = [
    "system",
    ">results",
    "latest",
    "command",
    "verdict",
    ">bounded by deadline",
    ">bounds kept",
    "changed in it",
];

/// A system, as its latest result says.
fn latest(system: &System<'_>) -> Vec<String> {
    let name = format!("<a href=\"{}\">{}</a>", system::path(system.name), escape(system.name));
    let mut row = vec![name, system.entries.len().to_string()];
    if let Some((entry, changes)) = system.entries.last() {
        // What another command found before is not answered by the last one.
        let others = Kind::ALL.into_iter().filter(|kind| *kind != entry.kind).filter_map(|kind| {
            let of_kind = |(entry, _): &&(&Entry, Vec<Change>)| entry.kind == kind;
            system.entries.iter().rev().find(of_kind).map(|(entry, _)| *entry)
        });
        let others = others.filter(|other| other.good == Some(false));
        let others = others.map(|it| format!("<br>{}: {}", it.kind.as_str(), verdict(it)));
        let verdicts = verdict(entry) + &others.collect::<String>();
        let command = entry.kind.as_str().to_owned();
        row.extend([date(entry), command, verdicts, part(entry.in_time())]);
        row.extend([part(entry.kept()), escape(&summary(changes))]);
    }
    row
}

const RESULTS: [&str; 9] = [
    "date",
    "system",
    "command",
    "version",
    "verdict",
    ">bounded by deadline",
    ">bounds kept",
    "changed",
    "more",
];

fn row(entry: &Entry, systems: &[System<'_>]) -> Vec<String> {
    let all = systems.iter().flat_map(|system| &system.entries);
    let changes = all.filter(|(it, _)| std::ptr::eq(*it, entry)).map(|(_, it)| summary(it)).next();
    let name = escape(&entry.name);
    let name = match entry.kind.is_of_system() {
        true => format!("<a href=\"{}\">{name}</a>", system::path(&entry.name)),
        false => name,
    };
    vec![
        date(entry),
        name,
        entry.kind.as_str().into(),
        version(entry),
        verdict(entry),
        part(entry.in_time()),
        part(entry.kept()),
        escape(&changes.unwrap_or_default()),
        links(entry, ""),
    ]
}
