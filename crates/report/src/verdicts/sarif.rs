//! SARIF 2.1.0, with what GitHub's code scanning asks for: a result for each verdict that fails. Viewers of SARIF show every
//! result as a finding; therefore verdicts that hold are left out, and open ones are notifications.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Outcome, Place, Row, Rule, Verdicts};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Returns the document.
pub fn document(verdicts: &Verdicts) -> String {
    let mut rules: Vec<Rule> = Rule::ALL.into_iter().filter(|it| *it != Rule::Input("")).collect();
    for row in &verdicts.rows {
        if !rules.contains(&row.rule) {
            rules.push(row.rule);
        }
    }
    let of = |outcome| verdicts.rows.iter().filter(move |row| row.outcome == outcome);
    let results: Vec<Value> = of(Outcome::Fails).map(|row| result(verdicts, row, &rules)).collect();
    let open = of(Outcome::Open).map(|row| notification("warning", &sentence(row)));
    let notes = verdicts.notes.iter().map(|note| notification("note", note));
    let has_mistakes = verdicts.rows.iter().any(|row| matches!(row.rule, Rule::Input(_)));
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "bulkhead",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| descriptor(*rule)).collect::<Vec<_>>(),
            } },
            // Uploads of several systems stand beside each other.
            "automationDetails": { "id": format!("{} {}/", verdicts.command, verdicts.file) },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": !has_mistakes,
                "toolExecutionNotifications": open.chain(notes).collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn notification(level: &str, message: &str) -> Value {
    json!({ "level": level, "message": text(message) })
}

/// Returns the text of a verdict, with the name of its subject.
fn sentence(row: &Row) -> String {
    format!("{}: {}", row.subject, row.text())
}

fn descriptor(rule: Rule) -> Value {
    let about = rule.about();
    json!({
        "id": rule.id(),
        "shortDescription": text(about),
        "fullDescription": text(about),
        "help": text("The same command without `--format` shows the whole result."),
        "defaultConfiguration": { "level": level(rule) },
    })
}

/// Returns the level of a verdict that fails: a difference may be wanted.
fn level(rule: Rule) -> &'static str {
    if rule == Rule::Difference { "note" } else { "error" }
}

fn result(verdicts: &Verdicts, row: &Row, rules: &[Rule]) -> Value {
    let file = row.place.as_ref().map_or(&verdicts.file, |place| &place.file);
    let mut place = json!({ "artifactLocation": { "uri": uri(file) } });
    if let Some(Place { line, column, end_column, .. }) = &row.place {
        place["region"] =
            json!({ "startLine": line, "startColumn": column, "endColumn": end_column });
    }
    json!({
        "ruleId": row.rule.id(),
        "ruleIndex": rules.iter().position(|rule| *rule == row.rule),
        "level": level(row.rule),
        "message": text(&sentence(row)),
        "locations": [{
            "physicalLocation": place,
            "logicalLocations": [{ "fullyQualifiedName": row.subject }],
        }],
        "partialFingerprints": { "subject/v1": format!("{} {}", row.rule.id(), row.subject) },
    })
}

/// Returns the path of a file as a URI: relative ones stay relative.
fn uri(file: &str) -> String {
    let file = file.strip_prefix("./").unwrap_or(file);
    let mut uri = if file.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("./systems/a b.toml"), "systems/a%20b.toml");
        assert_eq!(uri("a:b#c?d%.toml"), "a%3Ab%23c%3Fd%25.toml");
        assert_eq!(uri("/tmp/ä.toml"), "file:///tmp/%C3%A4.toml");
    }
}
