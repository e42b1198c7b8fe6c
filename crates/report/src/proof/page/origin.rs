//! The part of the page that says how to repeat the proof.

use super::Part;
use super::label::{escape, prose};
use crate::proof::Proof;

/// Most files and commands.
const ROWS_MAX: usize = 200;

/// Returns the part, if something is known.
pub fn part(proof: &Proof) -> Option<Part> {
    let origin = &proof.origin;
    let mut html = String::new();
    if !origin.commands.is_empty() {
        html.push_str("<h3>Commands</h3>\n<ol class=\"commands\">\n");
        for command in origin.commands.iter().take(ROWS_MAX) {
            html.push_str(&format!(
                "<li>{}<pre tabindex=\"0\"><code>{}</code></pre></li>\n",
                escape(&command.purpose),
                escape(&command.line)
            ));
        }
        html.push_str("</ol>\n");
    }
    let facts: Vec<[String; 3]> =
        origin.facts.iter().map(|it| [it.name.clone(), it.value.clone(), String::new()]).collect();
    html.push_str(&table("Versions and settings", ["what", "value", ""], &facts));
    let files: Vec<[String; 3]> = origin
        .files
        .iter()
        .map(|it| [it.purpose.clone(), it.name.clone(), it.sha256.clone()])
        .collect();
    html.push_str(&table("Files", ["what", "file", "SHA-256"], &files));
    (!html.is_empty()).then_some(Part {
        id: "again",
        nav: "Again",
        title: "How to get this again",
        html,
    })
}

fn table(caption: &str, heading: [&str; 3], rows: &[[String; 3]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head: String = heading
        .iter()
        .filter(|it| !it.is_empty())
        .map(|it| format!("<th scope=\"col\">{it}</th>"))
        .collect();
    let last = if heading[2].is_empty() { 2 } else { 3 };
    let body: String = rows
        .iter()
        .take(ROWS_MAX)
        .map(|row| {
            let cells: String = row[1..last]
                .iter()
                .map(|it| format!("<td><code>{}</code></td>", escape(it)))
                .collect();
            format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", prose(&row[0]))
        })
        .collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n<table class=\"origin\">\n<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )
}
