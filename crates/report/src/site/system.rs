//! The page of a system: its results in the order of time, and each of its tasks and chains over them.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::System;
use super::change::Change;
use super::data::{Bound, Entry, Subject, Timed};
use super::line::{self, Point};
use super::table::{
    bound, date, links, marked, note_on_dates, part, some_time, table, verdict, version,
};
use crate::date::shown;
use crate::proof::page::label::{escape, prose};
use crate::proof::page::units::{count, counted, percent};

/// Most tasks and times of chains that have a section.
const SUBJECTS_MAX: usize = 200;

/// Returns the path of the page of a system. Different names have different pages, whatever characters are in them.
pub fn path(name: &str) -> String {
    let digest: String =
        Sha256::digest(name.as_bytes()).iter().take(4).map(|it| format!("{it:02x}")).collect();
    format!("systems/{}-{digest}.html", slug(name))
}

/// Returns the letters and digits of a name, for names of files.
fn slug(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = name.chars().take(40).map(kept).collect();
    match slug.trim_matches('-') {
        "" => "system".into(),
        slug => slug.to_owned(),
    }
}

/// Returns the page.
pub fn html(system: &System<'_>) -> String {
    let entries = || system.entries.iter().map(|(entry, _)| *entry);
    let mut body = "<section>\n<h2>Results in the order of time</h2>\n".to_owned();
    let rows: Vec<_> = system.entries.iter().map(|(entry, changes)| row(entry, changes)).collect();
    body.push_str(&table("Results in the order of time", &RESULTS, &rows));
    body.push_str(note_on_dates(entries()));
    body.push_str("</section>\n");
    let subjects = subjects(system);
    if !subjects.is_empty() {
        let has_chains = subjects.iter().any(|it| !it.is_task());
        let title = if has_chains { "Every task and chain" } else { "Every task" };
        body.push_str(&format!("<section>\n<h2>{title} over time</h2>\n"));
        body.push_str(line::LEGEND);
        subjects.iter().take(SUBJECTS_MAX).for_each(|it| body.push_str(&over_time(system, it)));
        if subjects.len() > SUBJECTS_MAX {
            let left = count((subjects.len() - SUBJECTS_MAX) as u64);
            body.push_str(&format!("<p>{left} more are in the data.</p>\n"));
        }
        body.push_str("</section>\n");
    }
    let before = format!(
        "<a href=\"../index.html\">All results</a> · {}",
        counted(system.entries.len() as u64, "result")
    );
    super::shell::document(system.name, &before, &body)
}

const RESULTS: [&str; 8] = [
    "date",
    "command",
    "version",
    "verdict",
    ">bounded by deadline",
    ">bounds kept",
    "changed since the one before",
    "more",
];

/// Rows of a task or chain: its latest ones. The drawing and the table of all results have all.
const ROWS_MAX: usize = 100;

/// Sentences of a result that is not well; its row says how many more there are.
const FAILURES_MAX: usize = 20;

fn row(entry: &Entry, changes: &[Change]) -> Vec<String> {
    let said = changes.iter().map(|change| {
        let text = marked(change.what.good(), &change.what.text());
        match &change.subject {
            Some(subject) => format!("<li>{}: {text}</li>", escape(&subject.title())),
            None => format!("<li>{text}</li>"),
        }
    });
    let failures = entry.failures.iter().map(|it| format!("<li>{}</li>", prose(it)));
    let more = entry.failures.len().saturating_sub(FAILURES_MAX);
    let more = (more > 0).then(|| format!("<li>and {more} more, in the data</li>"));
    let said: String = said.chain(failures.take(FAILURES_MAX)).chain(more).collect();
    vec![
        date(entry),
        entry.kind.as_str().into(),
        version(entry),
        verdict(entry),
        part(entry.in_time()),
        part(entry.kept()),
        if said.is_empty() { String::new() } else { format!("<ul class=\"changes\">{said}</ul>") },
        links(entry, "../"),
    ]
}

/// All tasks and times of chains of the results, in the order in which they come.
fn subjects<'s>(system: &System<'s>) -> Vec<&'s Subject> {
    let mut known = BTreeSet::new();
    let timed = system.entries.iter().flat_map(|(entry, _)| &entry.timed);
    timed.map(|it| &it.subject).filter(|it| known.insert(*it)).collect()
}

/// A task or a time of a chain over the results.
fn over_time(system: &System<'_>, subject: &Subject) -> String {
    let mut points = Vec::new();
    let mut rows = Vec::new();
    for (entry, changes) in &system.entries {
        let of_it = changes.iter().filter(|change| change.subject.as_ref() == Some(subject));
        let changed: Vec<String> =
            of_it.map(|change| marked(change.what.good(), &change.what.text())).collect();
        let changed = changed.join("<br>");
        let found = entry.timed.iter().find(|it| it.subject == *subject);
        if let Some(it) = found {
            points.push(Point {
                date: shown(entry.time),
                deadline_ns: it.deadline_ns,
                bound_ns: it.bound.ns(),
                executed_ns: it.executed_ns,
            });
        }
        match found {
            Some(it) => rows.push(timed_row(entry, it, changed)),
            // It has gone.
            None if !changed.is_empty() => {
                let none = || "–".to_owned();
                let command = entry.kind.as_str().into();
                rows.push(vec![
                    date(entry),
                    command,
                    none(),
                    none(),
                    none(),
                    none(),
                    none(),
                    changed,
                ]);
            }
            None => {}
        }
    }
    let older = rows.len().saturating_sub(ROWS_MAX);
    rows.drain(..older);
    let note = match older {
        0 => String::new(),
        _ => format!("<p>The data has {} before these.</p>\n", counted(older as u64, "result")),
    };
    let title = subject.title();
    let heading = if subject.is_task() { &TASK } else { &CHAIN };
    let drawing = line::drawing(&title, &points).unwrap_or_default();
    format!("<h3>{}</h3>\n{drawing}{}{note}", escape(&title), table(&title, heading, &rows))
}

const TASK: [&str; 8] = [
    "date",
    "command",
    ">deadline",
    ">bound",
    ">longest executed",
    ">of the bound",
    ">missed",
    "changed",
];

/// Headings like [`TASK`] for chains, which have limits in place of deadlines, and no jobs.
const CHAIN: [&str; 8] = {
    let mut columns = TASK;
    columns[2] = ">limit";
    columns
};

fn timed_row(entry: &Entry, timed: &Timed, changed: String) -> Vec<String> {
    let both = timed.executed_ns.zip(timed.bound.ns());
    let share = both.and_then(|(executed, bound)| percent(executed, bound));
    let share = share.map_or("–".into(), |share| format!("{share} %"));
    let is_above = timed.exact && both.is_some_and(|(executed, bound)| executed > bound);
    let executed = match timed.executed_ns {
        Some(_) if is_above => {
            marked(Some(false), &format!("{}, above the bound", some_time(timed.executed_ns)))
        }
        ns => some_time(ns),
    };
    let missed = match (timed.missed, timed.jobs) {
        (Some(missed), Some(jobs)) => {
            let text = format!("{} of {}", count(missed), count(jobs));
            if missed > 0 { marked(Some(false), &text) } else { text }
        }
        _ => "–".into(),
    };
    let has_bound = !matches!(timed.bound, Bound::NotStated);
    vec![
        date(entry),
        entry.kind.as_str().into(),
        some_time(timed.deadline_ns),
        bound(timed.bound, timed.deadline_ns.filter(|_| has_bound)),
        executed,
        share,
        missed,
        changed,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_are_not_shown_are_counted() {
        let last_cells = |count: usize| {
            let failures = vec!["late".into(); count];
            row(&Entry { failures, ..Entry::default() }, &[]).concat()
        };
        assert!(!last_cells(FAILURES_MAX).contains("more"));
        assert!(last_cells(FAILURES_MAX + 3).contains("<li>and 3 more, in the data</li>"));
    }

    #[test]
    fn pages_of_other_names_are_other_files_in_their_folder() {
        let names = ["rover", "Rover", "../../etc/passwd", "", "ä", "ö", "a/b", "a-b"];
        let mut paths: Vec<String> = names.map(path).into();
        for path in &paths {
            let name = path.strip_prefix("systems/").expect("in its folder");
            assert!(!name.contains(['/', '\\']) && !name.starts_with('.'), "{path}");
        }
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), names.len());
    }
}
