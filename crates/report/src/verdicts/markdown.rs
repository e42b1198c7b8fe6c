//! A table in GitHub Flavored Markdown, for a comment on a change: failures come first.

use super::{Outcome, Row, Rule, Verdicts};
use crate::markdown::table;

/// Bytes that a comment may have. GitHub takes 65,536 characters.
const MOST: usize = 60_000;

/// Returns the document.
pub fn document(verdicts: &Verdicts) -> String {
    let mut rows: Vec<&Row> = verdicts.rows.iter().collect();
    rows.sort_by_key(|row| row.outcome);
    let mut figures: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.figures) {
        if !figures.contains(name) {
            figures.push(name);
        }
    }
    let columns: Vec<String> = figures.iter().map(|name| format!(">{name}")).collect();
    let mut heading = vec!["", "rule", "of"];
    heading.extend(columns.iter().map(String::as_str));
    heading.push("why");

    let title = code(&verdicts.title());
    let mut text = format!("### {title}: {}\n\n", escaped(&verdicts.answer));
    // The answer has the number of differences.
    if rows.iter().any(|row| row.rule != Rule::Difference) {
        text.push_str(&format!("{}\n\n", counts(verdicts)));
    }
    let mut cells: Vec<Vec<String>> = Vec::new();
    let mut length = text.len() + table(&heading, &[]).len();
    for row in &rows {
        let row = self::cells(row, &figures);
        length += row.iter().map(|cell| cell.len() + " | ".len()).sum::<usize>();
        if length > MOST {
            break;
        }
        cells.push(row);
    }
    if !cells.is_empty() {
        text.push_str(&table(&heading, &cells));
    }
    let left = rows.len() - cells.len();
    if left > 0 {
        text.push_str(&format!("\n{left} more verdicts are not shown.\n"));
    }
    let details = rows.iter().filter(|row| !row.details.is_empty());
    let details = details.map(|row| format!("\n{}\n\n{}", code(&row.subject), block(&row.details)));
    let notes = verdicts.notes.iter().map(|note| format!("\nnote: {}\n", prose(note)));
    for part in details.chain(notes) {
        if text.len() + part.len() > MOST {
            text.push_str("\nThe rest is not shown.\n");
            break;
        }
        text.push_str(&part);
    }
    text
}

/// `2 of 9 verdicts fail, 1 open.`
fn counts(verdicts: &Verdicts) -> String {
    let (fails, open) = (verdicts.count(Outcome::Fails), verdicts.count(Outcome::Open));
    let all = verdicts.rows.len();
    let open = if open == 0 { String::new() } else { format!(", {open} open") };
    let noun = if all == 1 { "verdict" } else { "verdicts" };
    let ending = |count| if count == 1 { "s" } else { "" };
    match (fails, verdicts.count(Outcome::Holds)) {
        (0, holds) => format!("{holds} of {all} {noun} hold{}{open}.", ending(holds)),
        _ => format!("**{fails} of {all} {noun} fail{}**{open}.", ending(fails)),
    }
}

fn cells(row: &Row, figures: &[&str]) -> Vec<String> {
    let outcome = match (row.outcome, row.rule) {
        // A difference may be what was wanted.
        (Outcome::Fails, Rule::Difference) => "differs".into(),
        (Outcome::Fails, _) => format!("**{}**", row.outcome.as_str()),
        _ => row.outcome.as_str().into(),
    };
    let mut cells = vec![outcome, code(&row.rule.id()), code(&row.subject)];
    cells.extend(figures.iter().map(|name| {
        let found = row.figures.iter().find(|(it, _)| it == name);
        found.map_or_else(String::new, |(_, value)| escaped(value))
    }));
    let why: Vec<String> = row.reasons.iter().map(|why| prose(why)).collect();
    cells.push(why.join("<br>"));
    cells
}

/// Returns a sentence in which names between backticks stay code; if it is not certain which these are, all is plain text.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let inside = parts.iter().skip(1).step_by(2);
    if parts.len().is_multiple_of(2) || inside.clone().any(|name| name.is_empty()) {
        return escaped(text);
    }
    let part = |(index, part): (usize, &&str)| match index % 2 {
        0 if index > 0 && index + 1 < parts.len() && part.is_empty() => None,
        0 => Some(escaped(part)),
        _ => Some(code(part)),
    };
    // Spans that touch would be one.
    let parts: Option<Vec<String>> = parts.iter().enumerate().map(part).collect();
    parts.map_or_else(|| escaped(text), |parts| parts.concat())
}

/// Returns a name as code; as plain text if code in a table could not show it.
fn code(text: &str) -> String {
    let is_plain = |it: char| !it.is_control() && !['`', '|', '\\'].contains(&it);
    match !text.trim().is_empty() && text.chars().all(is_plain) {
        true => format!("`{text}`"),
        false => escaped(text),
    }
}

/// Returns text that Markdown shows as it is, in a line of a table or elsewhere.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for it in text.chars() {
        match it {
            '|' | '<' | '>' | '&' | '\\' => escaped.push_str(&format!("&#{};", u32::from(it))),
            it if it.is_control() || it.is_whitespace() => escaped.push(' '),
            it if it.is_ascii_punctuation() && !",.:;()-/%'\"?!=+".contains(it) => {
                escaped.extend(['\\', it]);
            }
            it => escaped.push(it),
        }
    }
    escaped
}

/// Returns lines as a block of code.
fn block(lines: &str) -> String {
    let mut fence = "```".to_owned();
    while lines.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}text\n{}\n{fence}\n", lines.trim_end())
}
