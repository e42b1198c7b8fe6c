//! Tables, and the words in them.

use super::data::{Bound, Entry};
use crate::date::shown;
use crate::proof::page::label::escape;
use crate::proof::page::units::time;

/// Returns a table of cells that are HTML. Columns whose heading begins with `>` are numbers, and those whose heading begins
/// with `changed` are wide. Screen readers say the `name` of the table.
pub fn table(name: &str, heading: &[&str], rows: &[Vec<String>]) -> String {
    let class = |column: usize| match heading.get(column) {
        Some(title) if title.starts_with('>') => " class=\"n\"",
        Some(title) if title.starts_with("changed") => " class=\"changed\"",
        _ => "",
    };
    let head: String = heading
        .iter()
        .enumerate()
        .map(|(column, title)| {
            let title = title.trim_start_matches('>');
            format!("<th scope=\"col\"{}>{title}</th>", class(column))
        })
        .collect();
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("<th scope=\"row\">{cell}</th>"),
            _ => format!("<td{}>{cell}</td>", class(column)),
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}\"><table>\n\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
        escape(name)
    )
}

/// Returns the day and the hour of a result; `*` if it is that of its file.
pub fn date(entry: &Entry) -> String {
    let mark = if entry.dated { "" } else { " *" };
    format!("{}{mark}", shown(entry.time))
}

/// Explains the `*` of [`date`] if there is one.
pub fn note_on_dates<'e>(mut entries: impl Iterator<Item = &'e Entry>) -> &'static str {
    match entries.any(|entry| !entry.dated) {
        true => {
            "<p>* The result does not say when it was made: this is the date of its file.</p>\n"
        }
        false => "",
    }
}

/// Returns the version that made a result.
pub fn version(entry: &Entry) -> String {
    entry.version.as_deref().map_or("–".into(), escape)
}

/// Returns the verdict with its sign.
pub fn verdict(entry: &Entry) -> String {
    marked(entry.good, &entry.verdict)
}

/// Returns a text that is good or bad.
pub fn marked(good: Option<bool>, text: &str) -> String {
    let text = escape(text);
    match good {
        Some(true) => format!("<strong class=\"good\">✓ {text}</strong>"),
        Some(false) => format!("<strong class=\"bad\">✗ {text}</strong>"),
        None => text,
    }
}

/// Returns a part of a number; none is a dash.
pub fn part(part: Option<(usize, usize)>) -> String {
    match part {
        Some((some, all)) if some < all => {
            format!("<strong class=\"bad\">{some} of {all}</strong>")
        }
        Some((some, all)) => format!("{some} of {all}"),
        None => "–".into(),
    }
}

/// Returns a time, if there is one.
pub fn some_time(ns: Option<u64>) -> String {
    ns.map_or("–".into(), time)
}

/// Returns a bound, which is marked if it is behind the deadline.
pub fn bound(bound: Bound, deadline_ns: Option<u64>) -> String {
    match bound {
        Bound::NotStated => "–".into(),
        Bound::Missing => marked(Some(false), "none"),
        Bound::Ns(ns) if deadline_ns.is_some_and(|deadline| ns > deadline) => {
            marked(Some(false), &time(ns))
        }
        Bound::Ns(ns) => time(ns),
    }
}

/// Returns links to the page and the document of a result. `up` leads from the page to the folder of the site.
pub fn links(entry: &Entry, up: &str) -> String {
    let link = |path: &str, text| {
        let label = escape(&format!("{text} of {}, {}", entry.name, shown(entry.time)));
        format!("<a href=\"{up}{}\" aria-label=\"{label}\">{text}</a>", escape(path))
    };
    let report = entry.report.as_deref().map(|path| link(path, "report"));
    let document = Some(link(&entry.document, "data"));
    report.into_iter().chain(document).collect::<Vec<_>>().join(" · ")
}
